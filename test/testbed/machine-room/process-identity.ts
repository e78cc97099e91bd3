import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

/** One process for ever: a pid alone may name another process later. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since boot, from /proc/PID/stat. */
  readonly startTicks: number;
}

/** The identity of a running process, or undefined where there is none. A zombie counts as none once its last thread, and with it its sockets, is gone. */
export function findProcess(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The command name is in parentheses and may hold spaces; the fields after it are plain.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'X' || (fields[0] === 'Z' && threadCount(pid) <= 1)) return undefined;
  return { pid, startTicks: Number(fields[19]) };
}

function threadCount(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}

/** True while this very process runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  return findProcess(identity.pid)?.startTicks === identity.startTicks;
}

/** The pids of all processes whose network namespace is one of those mounted at the given paths. */
export function processesInNamespaces(paths: readonly string[]): number[] {
  const inodes = new Set(paths.flatMap((path) => inodeOf(path) ?? []));
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const inode = namespaceInode(pid);
      return inode !== undefined && inodes.has(inode);
    });
}

/** The resident memory of a process in KiB; 0 where it is gone. */
export function residentKib(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The environment that a process was started with. */
export function processEnvironment(pid: number): Readonly<Record<string, string>> {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter((entry) => entry.includes('='));
  return Object.fromEntries(entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
}

function namespaceInode(pid: number): number | undefined {
  try {
    return Number(/\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/ns/net`))?.[1]);
  } catch {
    return undefined;
  }
}

function inodeOf(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}
