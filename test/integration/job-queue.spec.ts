import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { startEmbeddedPostgres } from '#adapters/embedded-postgres';
import { BullJobQueue, type QueueBackend } from '#adapters/queue';
import { SystemRandom } from '#platform';
import { jobQueueConformance, type JobQueueUnderTest } from '#testing/conformance';

import { openFolder } from '../fleet/open-folder.js';
import { redisProblems, startRedisServer } from './redis-server.js';

const under = (backend: QueueBackend, stop: () => Promise<void>): JobQueueUnderTest => ({
  open: (name) => new BullJobQueue({ backend, name, random: new SystemRandom() }),
  pass: (ms) => delay(ms),
  close: stop,
});

jobQueueConformance('BullMQ on PostgreSQL', async () => {
  const folder = openFolder('spillway-queue-');
  const server = await startEmbeddedPostgres({ folder, isDurable: false });
  return under({ kind: 'postgres', connectionString: server.connectionString }, async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
});

jobQueueConformance(
  'BullMQ on Redis',
  async () => {
    const server = await startRedisServer();
    return under({ kind: 'redis', url: server.url }, () => server.stop());
  },
  redisProblems(),
);
