import { chownSync, cpSync, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { FleetError } from '#domain/fleet';

/** Whom the server runs as: PostgreSQL refuses to run as root. */
export interface RunUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

// `postgres` where the system has it; `nobody` is on every Linux. No user is ever added to the system.
const CANDIDATES = ['postgres', 'nobody'] as const;

/** The user to run the server as; undefined where this process is not root and so is its own best choice. */
export function chooseRunUser(): RunUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = new Map(readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':')).map(([name = '', , uid, gid]) => [name, { name, uid: Number(uid), gid: Number(gid) }]));
  const user = CANDIDATES.map((name) => users.get(name)).find((candidate) => candidate !== undefined);
  if (user === undefined) throw new FleetError('POSTGRES_NO_USER', 'user', 'PostgreSQL does not run as root and this system has neither a user postgres nor nobody; run as another user');
  return user;
}

/** Throws POSTGRES_FOLDER_CLOSED where the user cannot come to a folder. */
export function checkReachable(folder: string, user: RunUser | undefined): void {
  if (user === undefined || isReachable(folder)) return;
  throw new FleetError('POSTGRES_FOLDER_CLOSED', 'user', `user ${user.name}, whom PostgreSQL runs as, cannot enter ${folder}; choose a folder under /var/lib or /tmp, or run as another user than root`);
}

/** A program folder that the user can run: the folder itself, or a copy of it beside the data where it lies behind a closed folder. */
export function reachablePrograms(programs: string, beside: string, user: RunUser | undefined): string {
  if (user === undefined || isReachable(programs)) return programs;
  const copy = join(beside, 'programs');
  if (!existsSync(join(copy, 'bin', 'postgres'))) cpSync(programs, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** Gives a file or folder to the user. */
export function giveTo(path: string, user: RunUser | undefined): void {
  if (user !== undefined) chownSync(path, user.uid, user.gid);
}

function isReachable(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
