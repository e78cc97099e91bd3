import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';

import { findProcess, isAlive, type ProcessIdentity } from '../machine-room/process-identity.js';
import { becomesTrue, signalGroup } from '../machine-room/room-process.js';
import { STARTED_PIPE } from './container-root.js';
import type { Container } from './pod-types.js';
import { startProbeLoop } from './probe-loop.js';

/** What a container is doing, as its status says. */
export type ContainerState =
  | { readonly kind: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly kind: 'running'; readonly pid: number; readonly startedAt: string }
  | { readonly kind: 'terminated'; readonly exitCode: number; readonly signal?: string; readonly startedAt: string; readonly finishedAt: string };

/** A command that is ready to start, or the reason why it cannot be. */
export type PreparedCommand = { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> } | { readonly reason: string; readonly message: string };

/** What a runner needs from its pod. */
export interface RunnerSurroundings {
  podIp(): string;
  readonly logFile: string;
  prepare(): PreparedCommand;
  mayRestart(exitCode: number): boolean;
  onChange(): void;
}

// A real node starts at 10 s and goes up to 5 min; tests need not wait that long to see the same states.
const RESTART_MS_MAX = 30_000;
const RESTART_MS_FIRST = 1_000;
const RESET_AFTER_MS = 60_000;
const RETRY_PREPARE_MS = 500;

/** Keeps one container running: start, probe, restart with growing pauses, stop. */
export class ContainerRunner {
  readonly container: Container;
  state: ContainerState = { kind: 'waiting', reason: 'ContainerCreating' };
  lastState: ContainerState | undefined;
  restartCount = 0;
  ready = false;
  started = false;
  readonly #around: RunnerSurroundings;
  #child: ChildProcess | undefined;
  #identity: ProcessIdentity | undefined;
  #stopProbes: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;
  #quickFailures = 0;

  constructor(container: Container, around: RunnerSurroundings) {
    this.container = container;
    this.#around = around;
  }

  /** Starts the container, now or as soon as it can be prepared. */
  start(): void {
    clearTimeout(this.#timer);
    if (this.#stopping || this.#child !== undefined) return;
    const prepared = this.#around.prepare();
    if ('reason' in prepared) {
      this.#become({ kind: 'waiting', reason: prepared.reason, message: prepared.message });
      this.#timer = setTimeout(() => this.start(), RETRY_PREPARE_MS);
      return;
    }
    this.#launch(prepared.command, prepared.env);
  }

  get pid(): number | undefined {
    return this.state.kind === 'running' ? this.state.pid : undefined;
  }

  /** The process of this container's newest start; it may have ended. */
  get identity(): ProcessIdentity | undefined {
    return this.#identity;
  }

  /** Ends the container: SIGTERM, then SIGKILL once the grace is over. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#endProcess(graceMs);
    this.#clearProbes();
    if (this.state.kind === 'waiting') this.#become(terminatedNow(0));
  }

  /** Ends this container's process, whose restart policy then decides. */
  async #endProcess(graceMs: number): Promise<void> {
    const identity = this.#identity;
    if (identity === undefined || !isAlive(identity)) return;
    if (graceMs > 0) {
      this.#child?.kill('SIGTERM');
      if (await becomesTrue(() => !isAlive(identity), graceMs, 10)) {
        signalGroup(identity.pid, 'SIGKILL');
        return;
      }
    }
    signalGroup(identity.pid, 'SIGKILL');
    await becomesTrue(() => !isAlive(identity), 10_000, 10);
  }

  #launch(command: readonly string[], env: Readonly<Record<string, string>>): void {
    mkdirSync(dirname(this.#around.logFile), { recursive: true });
    const log = openSync(this.#around.logFile, 'a');
    const [program = '', ...args] = command;
    const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log, 'pipe'], env: { ...env } });
    closeSync(log);
    this.#child = child;
    const startedMs = performance.now();
    let startedAt = new Date().toISOString();
    child.once('error', (error) => {
      this.#child = undefined;
      this.#become({ kind: 'waiting', reason: 'CreateContainerError', message: error.message });
    });
    child.once('exit', (code, signal) => this.#onExit({ code, signal, startedAt, ranMs: performance.now() - startedMs }));
    if (child.pid === undefined) return;
    const { pid } = child;
    this.#identity = findProcess(pid);
    // Its private view is complete, and the next thing is the container's own program.
    child.stdio[STARTED_PIPE]?.once('data', () => {
      // A short-lived program may be gone, and its successor started, before its word arrives.
      if (this.#child !== child) return;
      startedAt = new Date().toISOString();
      this.#onStarted(pid, startedAt);
    });
  }

  #onStarted(pid: number, startedAt: string): void {
    this.started = this.container.startupProbe === undefined;
    this.ready = this.started && this.container.readinessProbe === undefined;
    this.#become({ kind: 'running', pid, startedAt });
    this.#startProbes(pid);
  }

  #onExit(exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly startedAt: string; readonly ranMs: number }): void {
    const exitCode = exit.code ?? 128 + constants.signals[exit.signal ?? 'SIGKILL'];
    this.#child = undefined;
    this.#clearProbes();
    if (this.#identity !== undefined) signalGroup(this.#identity.pid, 'SIGKILL');
    this.ready = false;
    this.started = false;
    const ended: ContainerState = { kind: 'terminated', exitCode, startedAt: exit.startedAt, finishedAt: new Date().toISOString(), ...(exit.signal === null ? {} : { signal: exit.signal }) };
    this.#become(ended);
    if (this.#stopping || !this.#around.mayRestart(exitCode)) return;
    this.#quickFailures = exit.ranMs > RESET_AFTER_MS ? 0 : this.#quickFailures + 1;
    // The first restart is at once, as on a real node.
    const delayMs = this.#quickFailures <= 1 ? 0 : Math.min(RESTART_MS_FIRST * 2 ** (this.#quickFailures - 2), RESTART_MS_MAX);
    this.lastState = ended;
    if (delayMs > 0) this.#become({ kind: 'waiting', reason: 'CrashLoopBackOff', message: `back-off ${delayMs} ms restarting failed container=${this.container.name}` });
    this.#timer = setTimeout(() => {
      this.restartCount += 1;
      this.start();
    }, delayMs);
  }

  #startProbes(pid: number): void {
    const { startupProbe, readinessProbe, livenessProbe } = this.container;
    const target = { podIp: this.#around.podIp(), container: this.container, pid };
    const restart = (): void => void this.#endProcess(30_000);
    const startOthers = (): void => {
      if (readinessProbe !== undefined) this.#stopProbes.push(startProbeLoop({ probe: readinessProbe, target, eager: true }, { onPass: () => this.#setReady(true), onFail: () => this.#setReady(false) }));
      if (livenessProbe !== undefined) this.#stopProbes.push(startProbeLoop({ probe: livenessProbe, target, eager: false }, { onPass: () => undefined, onFail: restart }));
    };
    if (startupProbe === undefined) {
      startOthers();
      return;
    }
    const stopStartup = startProbeLoop({ probe: startupProbe, target, eager: true }, {
      onPass: () => {
        stopStartup();
        this.started = true;
        if (readinessProbe === undefined) this.ready = true;
        this.#around.onChange();
        startOthers();
      },
      onFail: restart,
    });
    this.#stopProbes.push(stopStartup);
  }

  #setReady(ready: boolean): void {
    if (this.ready === ready) return;
    this.ready = ready;
    this.#around.onChange();
  }

  #clearProbes(): void {
    for (const stop of this.#stopProbes.splice(0)) stop();
  }

  #become(state: ContainerState): void {
    this.state = state;
    this.#around.onChange();
  }
}

function terminatedNow(exitCode: number): ContainerState {
  const now = new Date().toISOString();
  return { kind: 'terminated', exitCode, startedAt: now, finishedAt: now };
}
