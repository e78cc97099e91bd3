import { z } from 'zod';

import type { QueueBackend } from '#adapters/queue';
import { durationMsSchema, encryptionKeyOf, hasOneEncryptionKey, hubSideEnv, loadConfig, type LOG_LEVELS, logLevelSchema, oneEncryptionKey, packageVersion, portSchema, Secret, type EncryptionKey, type Env } from '#platform';

import type { SpokeSettings } from './member-manifests/index.js';

/** The worker's configuration: total, parsed once. */
export interface WorkerConfig {
  readonly databaseUrl: Secret;
  /** Where the job queue lives: the same PostgreSQL, or Redis. */
  readonly queue: { readonly kind: QueueBackend['kind']; readonly url: Secret };
  /** Address of the hub's machine listener as members reach it; join tokens carry it. */
  readonly publicUrl: string;
  readonly encryptionKey: EncryptionKey;
  readonly ops: { readonly host: string; readonly port: number };
  /** Whether API servers may be on loopback and link-local addresses. */
  readonly allowLocalClusters: boolean;
  /** Readiness address of a hub: time in which it does not answer makes no member silent. */
  readonly hubReadyUrl: string | undefined;
  readonly spoke: SpokeSettings;
  readonly concurrency: number;
  readonly probeIntervalMs: number;
  readonly installIntervalMs: number;
  readonly resyncIntervalMs: number;
  readonly leaveWaitMs: number;
  readonly staleAfterMs: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** The environment that the worker reads; every problem is told at once. */
export const WorkerEnvSchema = z
  .object({
    ...hubSideEnv,
    SPILLWAY_REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'give Redis as redis://host:port, or leave it out to keep jobs in PostgreSQL' }).transform((text) => new Secret(text)).optional(),
    SPILLWAY_OPS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_OPS_PORT: portSchema.default(9092),
    SPILLWAY_HUB_READY_URL: z.url({ protocol: /^https?$/, error: 'give the address of a hub’s /readyz' }).optional(),
    SPILLWAY_SPOKE_IMAGE: z.string().optional(),
    SPILLWAY_SPOKE_DNS_REPLICAS: z.coerce.number().int().min(1).max(100).default(2),
    SPILLWAY_SPOKE_CLUSTER_DOMAIN: z.string().default('cluster.local'),
    SPILLWAY_SPOKE_LOG_LEVEL: logLevelSchema,
    SPILLWAY_WORKER_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(8),
    SPILLWAY_PROBE_INTERVAL_MS: durationMsSchema.default(30_000),
    SPILLWAY_INSTALL_INTERVAL_MS: durationMsSchema.default(300_000),
    SPILLWAY_RESYNC_INTERVAL_MS: durationMsSchema.default(300_000),
    SPILLWAY_LEAVE_WAIT_MS: durationMsSchema.default(60_000),
    SPILLWAY_STALE_AFTER_MS: durationMsSchema.default(300_000),
  })
  .refine(hasOneEncryptionKey, oneEncryptionKey);

/** Reads the worker's configuration. Throws ConfigError with every problem. */
export function loadWorkerConfig(env: Env): WorkerConfig {
  const read = loadConfig(WorkerEnvSchema, env);
  return Object.freeze({
    databaseUrl: read.SPILLWAY_DATABASE_URL,
    queue: read.SPILLWAY_REDIS_URL === undefined ? ({ kind: 'postgres', url: read.SPILLWAY_DATABASE_URL } as const) : ({ kind: 'redis', url: read.SPILLWAY_REDIS_URL } as const),
    publicUrl: read.SPILLWAY_PUBLIC_URL,
    encryptionKey: encryptionKeyOf(read),
    ops: { host: read.SPILLWAY_OPS_HOST, port: read.SPILLWAY_OPS_PORT },
    allowLocalClusters: read.SPILLWAY_ALLOW_LOCAL_CLUSTERS,
    hubReadyUrl: read.SPILLWAY_HUB_READY_URL,
    spoke: {
      image: read.SPILLWAY_SPOKE_IMAGE ?? `ghcr.io/spillway-dev/spoke:${packageVersion()}`,
      dnsReplicas: read.SPILLWAY_SPOKE_DNS_REPLICAS,
      clusterDomain: read.SPILLWAY_SPOKE_CLUSTER_DOMAIN,
      logLevel: read.SPILLWAY_SPOKE_LOG_LEVEL,
    },
    concurrency: read.SPILLWAY_WORKER_CONCURRENCY,
    probeIntervalMs: read.SPILLWAY_PROBE_INTERVAL_MS,
    installIntervalMs: read.SPILLWAY_INSTALL_INTERVAL_MS,
    resyncIntervalMs: read.SPILLWAY_RESYNC_INTERVAL_MS,
    leaveWaitMs: read.SPILLWAY_LEAVE_WAIT_MS,
    staleAfterMs: read.SPILLWAY_STALE_AFTER_MS,
    logLevel: read.SPILLWAY_LOG_LEVEL,
  });
}
