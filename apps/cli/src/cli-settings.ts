import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { parse, stringify } from 'yaml';
import { z } from 'zod';

import type { Env } from '#platform';

import { HubClient } from './hub-client.js';
import { CliError, EXIT } from './exit-codes.js';

const SettingsSchema = z.object({ hub: z.url(), token: z.string().min(1) });

/** Where the CLI finds its hub when nothing else says so; `spillway up` writes it. */
export type CliSettings = z.output<typeof SettingsSchema>;

/** The settings file: SPILLWAY_CONFIG, else under the XDG configuration folder. */
function settingsFile(env: Env): string {
  const home = env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? '.', '.config');
  return env['SPILLWAY_CONFIG'] ?? join(home, 'spillway', 'config.yaml');
}

/** Saves the hub's address and token, readable by the owner only, and says in which file. */
export function saveSettings(env: Env, settings: CliSettings): string {
  const file = settingsFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, stringify(settings), { mode: 0o600 });
  return file;
}

/** The hub that flags, else environment, else the settings file name. */
export function connectHub(env: Env, flags: { readonly hub?: string; readonly token?: string }): HubClient {
  const saved = readSettings(settingsFile(env));
  const url = flags.hub ?? env['SPILLWAY_HUB'] ?? saved?.hub;
  const token = flags.token ?? env['SPILLWAY_TOKEN'] ?? saved?.token;
  if (url === undefined) throw new CliError(EXIT.usage, 'no hub is named', 'pass --hub URL, set SPILLWAY_HUB, or run `spillway up` here first');
  if (token === undefined) throw new CliError(EXIT.usage, `no token for ${url}`, 'pass --token, or set SPILLWAY_TOKEN');
  return new HubClient({ url, token });
}

function readSettings(file: string): CliSettings | undefined {
  if (!existsSync(file)) return undefined;
  const result = SettingsSchema.safeParse(parse(readFileSync(file, 'utf8')));
  if (!result.success) throw new CliError(EXIT.usage, `${file} is not a settings file: ${result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')}`, 'mend or delete it');
  return result.data;
}
