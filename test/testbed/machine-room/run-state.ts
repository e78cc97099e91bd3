import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { findProcess, isAlive, type ProcessIdentity } from './process-identity.js';

/** Where runs keep their state and data. A fixed place, so that any later run finds the leftovers of a dead one. */
export const RUNS_DIRECTORY = '/var/tmp/spillway-testbed';

/** Network namespaces of a run are called PREFIX + run id + `-…`. */
export const NAMESPACE_PREFIX = 'swt-';

/** How many runs fit side by side: each takes one /19 of 198.18.0.0/15, the block set aside for test benches. */
const SLOTS_MAX = 16;

/** What is needed to end a run from outside, on disk from before the first thing it made. */
export interface RunState {
  readonly runId: string;
  readonly slot: number;
  readonly owner: ProcessIdentity;
  /** True for a run that is meant to outlive the process that started it. */
  readonly detached: boolean;
  readonly processes: readonly (ProcessIdentity & { readonly what: string })[];
  /** Free facts for `status`, such as the members' kubeconfig paths. */
  readonly facts: Readonly<Record<string, string>>;
}

/** Creates a run: an id, an address slot that no living run has, a directory. */
export function createRun(detached: boolean): RunState {
  const runId = randomBytes(3).toString('hex');
  mkdirSync(join(RUNS_DIRECTORY, runId), { recursive: true, mode: 0o700 });
  const owner = findProcess(process.pid);
  if (owner === undefined) throw new Error('this process does not find itself in /proc; the testbed needs Linux');
  const state: RunState = { runId, slot: claimSlot(runId), owner, detached, processes: [], facts: {} };
  saveRun(state);
  return state;
}

/** Writes a run's state so that a reader never sees half of it. */
export function saveRun(state: RunState): void {
  const path = join(RUNS_DIRECTORY, state.runId, 'state.json');
  writeFileSync(`${path}.new`, JSON.stringify(state, null, 1), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The state of one run, or undefined where there is none. */
export function findRun(runId: string): RunState | undefined {
  try {
    return JSON.parse(readFileSync(join(RUNS_DIRECTORY, runId, 'state.json'), 'utf8')) as RunState;
  } catch {
    return undefined;
  }
}

/** Every run that left a trace on this machine, living or dead. */
export function listRuns(): readonly RunState[] {
  if (!existsSync(RUNS_DIRECTORY)) return [];
  return readdirSync(RUNS_DIRECTORY).flatMap((entry) => findRun(entry) ?? []);
}

/** True where nobody will end this run any more: its owner is gone and it was not meant to outlive it. */
export function isAbandoned(state: RunState): boolean {
  return !state.detached && !isAlive(state.owner);
}

/** Frees the slot and removes the directory; the last step of ending a run. */
export function forgetRun(state: RunState): void {
  const slotPath = slotFile(state.slot);
  if (existsSync(slotPath) && readFileSync(slotPath, 'utf8') === state.runId) rmSync(slotPath);
  rmSync(join(RUNS_DIRECTORY, state.runId), { recursive: true, force: true });
}

function claimSlot(runId: string): number {
  mkdirSync(join(RUNS_DIRECTORY, 'slots'), { recursive: true, mode: 0o700 });
  for (let slot = 0; slot < SLOTS_MAX; slot++) {
    if (tryClaim(slot, runId)) return slot;
  }
  throw new Error(`all ${SLOTS_MAX} testbed slots are taken; end one with: npm run testbed -- down --all`);
}

function tryClaim(slot: number, runId: string): boolean {
  const path = slotFile(slot);
  try {
    writeFileSync(path, runId, { flag: 'wx' });
    return true;
  } catch {
    const holder = readFileSync(path, 'utf8');
    if (holder === '' || existsSync(join(RUNS_DIRECTORY, holder))) return false;
    // The holder's directory is gone: its run ended between its two last steps.
    rmSync(path, { force: true });
    return tryClaim(slot, runId);
  }
}

const slotFile = (slot: number): string => join(RUNS_DIRECTORY, 'slots', String(slot));
