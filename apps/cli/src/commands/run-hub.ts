import { join } from 'node:path';

import { keepEmbeddedPostgres } from '#adapters/embedded-postgres';
import { loadHubConfig, startHub } from '#apps/hub';
import { loadWorkerConfig, startWorker } from '#apps/worker';
import type { RunningProcess } from '#platform';

import { saveSettings } from '../cli-settings.js';
import { embeddedFolder, prepareEmbeddedSettings, reachableAddress, type EmbeddedSettings } from '../embedded-settings.js';
import { startProgress } from '../terminal.js';
import type { CommandContext } from './command-context.js';

/** Flags of `spillway up`. */
export interface UpFlags {
  readonly data?: string;
  readonly advertise?: string;
  readonly peoplePort: string;
  readonly machinePort: string;
  readonly workerPort: string;
  readonly allowLocalClusters?: boolean;
  readonly logLevel: string;
}

/** Starts PostgreSQL, hub and worker in this process, and saves where the CLI finds them. */
export async function runHub(context: CommandContext, flags: UpFlags): Promise<RunningProcess> {
  const settings = prepareEmbeddedSettings(embeddedFolder(context.env, flags.data));
  const progress = startProgress(context.terminal, 'starting PostgreSQL');
  const stops: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.reverse()) await stop();
  };
  try {
    const postgres = await keepEmbeddedPostgres({ folder: settings.databaseFolder }, (why) => context.terminal.err(`PostgreSQL ${why}; starting it again`));
    stops.push(() => postgres.stop());
    const env = processEnv(context, flags, settings, postgres.connectionString);
    progress.update('starting the hub');
    const hub = await startHub(loadHubConfig(env));
    stops.push(() => hub.stop());
    progress.update('starting the worker');
    const worker = await startWorker(loadWorkerConfig(env));
    stops.push(() => worker.stop());
    const saved = saveSettings(context.env, { hub: hub.urls.people, token: settings.adminToken });
    progress.done('Spillway is up');
    announce(context, { ...hub.urls, token: join(settings.folder, 'admin-token'), saved });
    return {
      failed: postgres.failed,
      stop: async () => {
        context.terminal.err('stopping');
        await stopAll();
      },
    };
  } catch (error) {
    progress.fail('could not start');
    await stopAll();
    throw error;
  }
}

function processEnv(context: CommandContext, flags: UpFlags, settings: EmbeddedSettings, databaseUrl: string): Record<string, string> {
  const host = flags.advertise ?? reachableAddress();
  return {
    SPILLWAY_DATABASE_URL: databaseUrl,
    SPILLWAY_PUBLIC_URL: `https://${host}:${flags.machinePort}`,
    SPILLWAY_ENCRYPTION_KEY_FILE: settings.encryptionKeyFile,
    SPILLWAY_ADMIN_TOKEN: settings.adminToken,
    // People are served on this machine only; members must reach the machine listener from theirs.
    SPILLWAY_PEOPLE_HOST: '127.0.0.1',
    SPILLWAY_PEOPLE_PORT: flags.peoplePort,
    SPILLWAY_MACHINE_PORT: flags.machinePort,
    SPILLWAY_HUB_READY_URL: `http://127.0.0.1:${flags.peoplePort}/readyz`,
    SPILLWAY_OPS_HOST: '127.0.0.1',
    SPILLWAY_OPS_PORT: flags.workerPort,
    SPILLWAY_ALLOW_LOCAL_CLUSTERS: String(flags.allowLocalClusters === true),
    SPILLWAY_GRAPHIQL: 'true',
    SPILLWAY_LOG_LEVEL: flags.logLevel,
    ...(context.env['SPILLWAY_REDIS_URL'] === undefined ? {} : { SPILLWAY_REDIS_URL: context.env['SPILLWAY_REDIS_URL'] }),
  };
}

function announce(context: CommandContext, { people, machines, token, saved }: Readonly<Record<'people' | 'machines' | 'token' | 'saved', string>>): void {
  context.terminal.out(
    [
      `  GraphQL   ${people}/graphql   (GraphiQL at ${people}/graphiql)`,
      `  spokes    ${machines}   (members must reach it; another address: --advertise)`,
      `  token     in ${token}; the CLI finds it and this hub in ${saved}`,
      '',
      'It runs until Ctrl-C. Next, in another terminal: spillway join NAME --kubeconfig FILE --wait',
    ].join('\n'),
  );
}
