import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { findProcess, isAlive, type ProcessIdentity } from '../machine-room/process-identity.js';
import { becomesTrue } from '../machine-room/room-process.js';

const WAIT_MS_MAX = 45 * 60_000;

/** Runs `work` while holding a lock file, so that two runs never make the same thing at once. A dead holder's lock is void. */
export async function withLock<T>(path: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  if (!tryLock(path)) {
    onWait();
    if (!(await becomesTrue(() => tryLock(path), WAIT_MS_MAX, 250))) throw new Error(`${path} is still held by a running process after ${WAIT_MS_MAX / 60_000} minutes`);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function tryLock(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(findProcess(process.pid)), { flag: 'wx' });
    return true;
  } catch {
    if (isHeld(path)) return false;
    rmSync(path, { force: true });
    return false;
  }
}

function isHeld(path: string): boolean {
  try {
    const text = readFileSync(path, 'utf8');
    // Empty: its holder is between making the file and writing its name into it.
    return text === '' || isAlive(JSON.parse(text) as ProcessIdentity);
  } catch {
    return true;
  }
}
