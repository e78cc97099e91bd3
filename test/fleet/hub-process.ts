import { spawn, type ChildProcess } from 'node:child_process';
import { fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { lastWill } from './last-will.js';
import { until } from './until.js';

/** How one of our own processes is started. */
export interface ProcessOptions {
  readonly what: string;
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly readyUrl: string;
  readonly logFolder: string;
}

/** One of our own processes, started from the built tree, to be killed and started again at will. */
export class OwnProcess {
  readonly logFile: string;
  readonly #options: ProcessOptions;
  #child: ChildProcess | undefined;
  #logStart = 0;

  constructor(options: ProcessOptions) {
    this.#options = options;
    mkdirSync(options.logFolder, { recursive: true });
    this.logFile = join(options.logFolder, `${options.what}.log`);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it and waits until it says ready. */
  async start(): Promise<void> {
    const log = openSync(this.logFile, 'a');
    this.#logStart = fstatSync(log).size;
    const child = spawn(process.execPath, [this.#options.program], { env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...this.#options.env }, stdio: ['ignore', log, log] });
    this.#child = child;
    lastWill().endProcess(child.pid ?? 0);
    let ended: string | undefined;
    child.once('exit', (code, signal) => {
      ended = `ended with ${signal ?? code}`;
    });
    await until(`${this.#options.what} is ready`, async () => {
      if (ended !== undefined) throw new Error(`${this.#options.what} ${ended}:\n${readFileSync(this.logFile, 'utf8').split('\n').slice(-30).join('\n')}`);
      return isReady(this.#options.readyUrl);
    }, 60_000);
  }

  /** What it wrote since its last start. */
  log(): string {
    return readFileSync(this.logFile).subarray(this.#logStart).toString('utf8');
  }

  /** Ends it with a signal and waits until it is gone. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    const deadline = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await gone;
    clearTimeout(deadline);
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}
