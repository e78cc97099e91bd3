import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { FleetError } from '#domain/fleet';

const END_ORDERLY_MS = 10_000;
const LOOK_EVERY_MS = 50;

/**
 * Ends the server that an earlier run left on a data folder. Only one whose parent is gone (it then belongs to init) is a
 * leftover; a server whose parent lives is another run's, and throws POSTGRES_FOLDER_IN_USE.
 */
export async function endLeftover(data: string): Promise<void> {
  const pid = readServerPid(data);
  if (pid === undefined || !isServerOf(pid, data)) return;
  const parent = parentOf(pid);
  if (parent !== undefined && parent !== 1) {
    throw new FleetError('POSTGRES_FOLDER_IN_USE', 'user', `process ${parent} runs a database on ${data}; stop that one first, or choose another folder`);
  }
  process.kill(pid, 'SIGINT');
  const deadlineMs = performance.now() + END_ORDERLY_MS;
  while (isServerOf(pid, data)) {
    if (performance.now() > deadlineMs) throw new FleetError('POSTGRES_FOLDER_IN_USE', 'user', `database process ${pid} on ${data} does not end; end it by hand`);
    await delay(LOOK_EVERY_MS);
  }
}

function readServerPid(data: string): number | undefined {
  const file = join(data, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

// A process id is used again: only a program that was started with this folder is that server.
function isServerOf(pid: number, data: string): boolean {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) && readFileSync(file, 'utf8').split('\0').includes(data);
}

function parentOf(pid: number): number | undefined {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return undefined;
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1]);
}
