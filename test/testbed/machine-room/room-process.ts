import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { findProcess, isAlive, type ProcessIdentity } from './process-identity.js';

/** What to run, and where. */
export interface ProcessSpec {
  /** Says what it is in state files and errors, such as `kube-apiserver of west`. */
  readonly what: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The network namespace by name; absent: the caller's. */
  readonly namespace?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Takes both outputs, appended. */
  readonly logFile: string;
}

/** A process that the testbed started: leader of its own process group. */
export interface RoomProcess extends ProcessIdentity {
  readonly what: string;
  readonly logFile: string;
  /** Settles with a sentence on how it ended, once it has. */
  readonly exited: Promise<string>;
}

/** Starts a process in a network namespace, in a process group of its own, with both outputs in its log file. */
export function startProcess(spec: ProcessSpec): RoomProcess {
  mkdirSync(dirname(spec.logFile), { recursive: true });
  const log = openSync(spec.logFile, 'a');
  const [command, ...args] = spec.namespace === undefined ? [spec.command, ...spec.args] : ['nsenter', `--net=/run/netns/${spec.namespace}`, '--', spec.command, ...spec.args];
  const child = spawn(command ?? '', args, { detached: true, stdio: ['ignore', log, log], env: { PATH: process.env.PATH, HOME: '/root', ...spec.env } });
  closeSync(log);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`${spec.what} did not start: ${error.message}`));
    child.once('exit', (code, signal) => resolve(`${spec.what} ended ${signal === null ? `with code ${code}` : `by ${signal}`}`));
  });
  child.unref();
  const pid = child.pid ?? 0;
  return { pid, startTicks: findProcess(pid)?.startTicks ?? 0, what: spec.what, logFile: spec.logFile, exited };
}

/** Ends a process group: asks with SIGTERM, insists with SIGKILL after `graceMs` (0: at once). */
export async function endProcess(target: ProcessIdentity & { readonly exited?: Promise<string> }, graceMs: number): Promise<void> {
  if (!isAlive(target)) return;
  if (graceMs > 0) {
    signalGroup(target.pid, 'SIGTERM');
    if (await isGoneWithin(target, graceMs)) return;
  }
  signalGroup(target.pid, 'SIGKILL');
  if (!(await isGoneWithin(target, 10_000))) throw new Error(`process ${target.pid} does not end on SIGKILL`);
}

/** Sends a signal to a process group; a group that is gone is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Polls until the check is true; false where it is not by the deadline. */
export async function becomesTrue(check: () => boolean | Promise<boolean>, deadlineMs: number, everyMs = 20): Promise<boolean> {
  const endAtMs = Date.now() + deadlineMs;
  while (!(await check())) {
    if (Date.now() > endAtMs) return false;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return true;
}

/** The last lines of a log file, for error messages. */
export function logTail(path: string, lines = 8): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '(no log)';
  }
}

const isGoneWithin = (target: ProcessIdentity, ms: number): Promise<boolean> => becomesTrue(() => !isAlive(target), ms);
