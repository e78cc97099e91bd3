import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isAlive, processesInNamespaces } from './process-identity.js';
import { becomesTrue, signalGroup } from './room-process.js';
import { runCommand } from './run-command.js';
import { forgetRun, isAbandoned, listRuns, NAMESPACE_PREFIX, RUNS_DIRECTORY, type RunState } from './run-state.js';

/**
 * Ends a run from its state alone, whoever started it: kills its processes, deletes its namespaces and links, undoes its
 * mounts, removes its directory. Safe to repeat; works after the owner died at any point.
 */
export async function endRun(state: RunState): Promise<void> {
  // Until none is left: a kubelet that dies a moment later may have started one more process in between.
  const allGone = await becomesTrue(() => killAll(state) === 0, 20_000);
  if (!allGone) throw new Error(`processes of testbed run ${state.runId} do not end: ${livingPids(state).join(', ')}`);
  const remove = namespacesOf(state.runId).map((name) => `netns delete ${name}`);
  if (remove.length > 0) await runCommand('ip', ['-force', '-batch', '-'], { input: `${remove.join('\n')}\n` });
  await runCommand('ip', ['link', 'delete', rootLinkName(state.runId)]).catch(() => undefined);
  for (const mount of mountsBelow(join(RUNS_DIRECTORY, state.runId))) await runCommand('umount', ['--lazy', mount]);
  forgetRun(state);
}

/** Ends every run whose owner is gone; returns their ids. */
export async function endAbandonedRuns(): Promise<readonly string[]> {
  const abandoned = listRuns().filter(isAbandoned);
  for (const state of abandoned) await endRun(state);
  return abandoned.map((state) => state.runId);
}

/** The network namespaces of a run. */
export function namespacesOf(runId: string): string[] {
  try {
    return readdirSync('/run/netns').filter((name) => name.startsWith(`${NAMESPACE_PREFIX}${runId}-`));
  } catch {
    return [];
  }
}

/** The name of a run's one link in the root network namespace. */
export const rootLinkName = (runId: string): string => `swt${runId}`;

/** The pids of a run that still live: what it recorded, and whatever runs inside its namespaces. */
export function livingPids(state: RunState): number[] {
  const recorded = state.processes.filter(isAlive).map((entry) => entry.pid);
  const inside = processesInNamespaces(namespacesOf(state.runId).map((name) => `/run/netns/${name}`));
  return [...new Set([...recorded, ...inside])].filter((pid) => pid !== process.pid);
}

function killAll(state: RunState): number {
  const pids = livingPids(state);
  for (const pid of pids) {
    signalGroup(pid, 'SIGKILL');
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone between the look and the signal, or in a group whose leader took it along.
    }
  }
  return pids.length;
}

function mountsBelow(directory: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[1] ?? [])
    .filter((path) => path.startsWith(`${directory}/`))
    .reverse();
}
