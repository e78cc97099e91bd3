import 'reflect-metadata';

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { NestFactory } from '@nestjs/core';

import { HttpKube, memberKubeConnection } from '#adapters/kube';
import { createPostgresStore, migrate } from '#adapters/postgres';
import { BullJobQueue } from '#adapters/queue';
import { openSecretBox } from '#adapters/secret-box';
import { isFleetError } from '#domain/fleet';
import { isLocalAddress, nextDelayMs, type MemberConnection } from '#domain/membership';
import { createLogger, createRegistry, startOpsServer, SystemClock, SystemRandom, type Logger, type RunningProcess } from '#platform';
import type { Clock, FleetStore, Random } from '#ports';

import { isHubListening } from './hub-presence.js';
import { JudgeLoop } from './judge/judge-loop.js';
import { MemberReconciler } from './member/member-reconciler.js';
import type { OpenKube } from './member/worker-parts.js';
import { createWorkerMetrics } from './metrics.js';
import { WorkerModule } from './worker.module.js';
import type { WorkerConfig } from './worker-config.js';

/** A running worker. */
export interface RunningWorker extends RunningProcess {
  readonly urls: { readonly ops: string };
}

/** Name of the queue of member clusters; hubs that ask for a member use the same. */
const MEMBER_QUEUE = 'member-clusters';

interface Tools {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Starts the worker: health first, then the database's schema, then work. No member is waited for. */
export async function startWorker(config: WorkerConfig): Promise<RunningWorker> {
  const tools: Tools = { clock: new SystemClock(), random: new SystemRandom(), logger: createLogger({ app: 'worker', level: config.logLevel }) };
  const store = openStore(config, tools);
  const queue = new BullJobQueue({ backend: backendOf(config), name: MEMBER_QUEUE, random: tools.random });
  const holder = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
  const judge = new JudgeLoop({ store, queue, holder, ...tools, staleAfterMs: config.staleAfterMs, isHubListening: () => isHubListening(config.hubReadyUrl) });
  const registry = createRegistry('worker');
  const metrics = createWorkerMetrics(registry, () => judge.isLeading);
  const ops = await startOpsServer({ ...config.ops, registry, readiness: { store: () => judge.unavailableReason(), queue: () => queue.unavailableReason() } });
  await migrateWhenReachable(config, tools);
  const reconciler = new MemberReconciler({ store, ...tools, openKube: kubeOpener(config, tools), settings: { ...config, holder } });
  const app = await NestFactory.createApplicationContext(WorkerModule.over({ store, queue, reconciler, judge, tools: { ...tools, metrics, settings: config } }), { logger: false, abortOnError: false });
  tools.logger.info({ ops: ops.url, queue: config.queue.kind, spokeImage: config.spoke.image }, 'worker started');
  return {
    urls: { ops: ops.url },
    stop: async () => {
      await app.close();
      await store.close();
      await ops.close();
    },
  };
}

function openStore(config: WorkerConfig, { clock }: Tools): FleetStore {
  const secretBox = openSecretBox(config.encryptionKey);
  return createPostgresStore({ connectionString: config.databaseUrl.reveal(), clock, secretBox });
}

const backendOf = ({ queue }: WorkerConfig): ConstructorParameters<typeof BullJobQueue>[0]['backend'] =>
  queue.kind === 'redis' ? { kind: 'redis', url: queue.url.reveal() } : { kind: 'postgres', connectionString: queue.url.reveal() };

// A member's API server is somebody else's: whatever it answers, one visit takes bounded time and memory of all the others.
const MEMBER_API_LIMITS = { answerBytesMax: 8 * 1024 * 1024, lifeMs: 5 * 60_000, listLimits: { pageObjects: 100, pagesMax: 500, objectsMax: 20_000 } } as const;

const kubeOpener =
  (config: WorkerConfig, tools: Tools) =>
  (connection: MemberConnection): OpenKube => {
    const kube = new HttpKube(memberKubeConnection(connection), { ...tools, ...MEMBER_API_LIMITS, ...(config.allowLocalClusters ? {} : { isAddressAllowed: (address: string) => !isLocalAddress(address) }) });
    return { kube, close: () => kube.close() };
  };

// A database that is still starting is waited for; what a person must mend ends the start.
async function migrateWhenReachable(config: WorkerConfig, { clock, random, logger }: Tools): Promise<void> {
  for (let attempts = 0; ; attempts += 1) {
    try {
      await migrate(config.databaseUrl.reveal());
      return;
    } catch (error) {
      if (!isFleetError(error) || error.kind !== 'transient') throw error;
      const delayMs = nextDelayMs('transient', attempts, random.next());
      logger.warn({ code: error.code, reason: error.message, delayMs }, 'waiting for the database');
      await clock.sleep(delayMs);
    }
  }
}
