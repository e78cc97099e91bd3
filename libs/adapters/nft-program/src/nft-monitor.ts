import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

import { TABLE_NAME } from '#domain/nft-ruleset';

import type { NftCommand } from './run-nft.js';

const OUR_TABLE = new RegExp(` ip6? ${TABLE_NAME}(\\s|$)`);
const GENERATION = /^# new generation \d+ by process (\d+)/;
// Own process ids to remember: more than can have written at once.
const OWN_PIDS_MAX = 64;

/** Follows `nft monitor`, which says after each transaction which process made it. */
export class NftMonitor {
  readonly #child: ChildProcess;
  readonly #ownPids: number[] = [];
  readonly #onForeignChange: () => void;
  #isOurTableTouched = false;

  constructor(command: NftCommand, onForeignChange: () => void) {
    this.#onForeignChange = onForeignChange;
    this.#child = spawn(command.program, [...command.leadingArguments, 'monitor'], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child.on('error', () => undefined);
    if (this.#child.stdout !== null) createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(line));
  }

  /** Says that a process is ours, before it can write anything. */
  addOwnPid(pid: number): void {
    this.#ownPids.push(pid);
    if (this.#ownPids.length > OWN_PIDS_MAX) this.#ownPids.shift();
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined) return;
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill();
    await ended;
  }

  #read(line: string): void {
    const pid = GENERATION.exec(line)?.[1];
    if (pid === undefined) {
      this.#isOurTableTouched ||= OUR_TABLE.test(line);
      return;
    }
    if (this.#isOurTableTouched && !this.#ownPids.includes(Number(pid))) this.#onForeignChange();
    this.#isOurTableTouched = false;
  }
}
