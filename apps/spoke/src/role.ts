import { parseArgs } from 'node:util';

import { ConfigError, packageVersion, type Env, type RunningProcess } from '#platform';

/** How each role starts. A role's code is loaded only when it is started, so that none pays for another's memory. */
const ROLES = {
  controller: async (env: Env) => (await import('./controller/index.js')).startControllerRole(env, packageVersion()),
  node: async (env: Env) => (await import('./node/index.js')).startNodeRole(env),
  dns: async (env: Env) => (await import('./dns/index.js')).startDnsRole(env),
  leave: async (env: Env) => (await import('./leave/index.js')).startLeaveRole(env),
} as const satisfies Readonly<Record<string, (env: Env) => Promise<RunningProcess>>>;

/** A role of the spoke. */
export type Role = keyof typeof ROLES;

/** The role that arguments name. Throws {@link ConfigError} where they name none, or say anything else. */
export function parseRole(args: readonly string[]): Role {
  const known = Object.keys(ROLES).join(', ');
  const role = readRole(args);
  if (role !== undefined && Object.hasOwn(ROLES, role)) return role as Role;
  throw new ConfigError([role === undefined ? `--role: say which: ${known}` : `--role: "${role}" is none of ${known}`]);
}

/** Starts a role. */
export const startRole = (role: Role, env: Env): Promise<RunningProcess> => ROLES[role](env);

function readRole(args: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...args], options: { role: { type: 'string' } } }).values.role;
  } catch (error) {
    throw new ConfigError([error instanceof Error ? error.message : String(error)]);
  }
}
