import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

import type { Env } from '#platform';

/** What `spillway up` keeps between runs, beside the database: secrets in files of mode 600. */
export interface EmbeddedSettings {
  readonly folder: string;
  readonly databaseFolder: string;
  readonly encryptionKeyFile: string;
  readonly adminToken: string;
}

/** The folder of the embedded default: `--data`, else /var/lib/spillway for root, else under the XDG data folder. */
export function embeddedFolder(env: Env, flag: string | undefined): string {
  if (flag !== undefined) return flag;
  // As root, PostgreSQL runs as a user of its own, who may not enter root's home.
  if (process.getuid?.() === 0) return '/var/lib/spillway';
  return join(env['XDG_DATA_HOME'] ?? join(env['HOME'] ?? '.', '.local', 'share'), 'spillway');
}

/** Reads the settings of a folder, making secrets that are not there yet. */
export function prepareEmbeddedSettings(folder: string): EmbeddedSettings {
  mkdirSync(folder, { recursive: true });
  const encryptionKeyFile = join(folder, 'encryption-key');
  keepSecret(encryptionKeyFile, () => randomBytes(32).toString('base64'));
  const adminToken = keepSecret(join(folder, 'admin-token'), () => `spw-admin-${randomBytes(24).toString('base64url')}`);
  return { folder, databaseFolder: join(folder, 'postgres'), encryptionKeyFile, adminToken };
}

function keepSecret(file: string, make: () => string): string {
  if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

/** An address of this machine that other machines may reach: its first IPv4 that is not loopback, else loopback. */
export function reachableAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find((one) => one.family === 'IPv4' && !one.internal)?.address ?? '127.0.0.1';
}
