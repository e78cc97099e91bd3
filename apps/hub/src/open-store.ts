import { createPostgresStore, migrate } from '#adapters/postgres';
import { openSecretBox } from '#adapters/secret-box';
import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, FleetStore } from '#ports';

import type { HubConfig } from './hub-config.js';

/** How long a starting hub waits for its database before it gives up and says so. */
const STORE_WAIT_MS = 60_000;

const RETRY_MS = 500;

/** Opens the store: brings the database to this program's schema first, waiting for a database that is still starting. */
export async function openStore(config: HubConfig, clock: Clock, logger: Logger): Promise<FleetStore> {
  const secretBox = openSecretBox(config.encryptionKey);
  const connectionString = config.databaseUrl.reveal();
  const applied = await onceStoreAnswers(() => migrate(connectionString), clock, logger);
  if (applied.length > 0) logger.info({ migrations: applied }, 'database migrated');
  return createPostgresStore({ connectionString, clock, secretBox, gatewayPorts: config.gatewayPorts });
}

async function onceStoreAnswers<T>(call: () => Promise<T>, clock: Clock, logger: Logger): Promise<T> {
  const giveUpAtMs = clock.monotonicMs() + STORE_WAIT_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isFleetError(error) || error.kind !== 'transient' || clock.monotonicMs() >= giveUpAtMs) throw error;
      logger.warn({ code: error.code }, 'waiting for the database');
      await clock.sleep(RETRY_MS);
    }
  }
}
