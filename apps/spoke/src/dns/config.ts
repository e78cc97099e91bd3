import { z } from 'zod';

import { logLevelSchema, portSchema } from '#platform';

import { planSourceEnv, planSourceOf } from '../plan-source/plan-source-config.js';

/** The dns role's configuration, from the environment. */
export const DnsConfigSchema = z
  .object({
    SPILLWAY_LOG_LEVEL: logLevelSchema,
    SPILLWAY_POD_NAME: z.string({ error: 'set it to the pod\'s name (fieldRef metadata.name): the controller knows this process by it' }).min(1),
    SPILLWAY_CLUSTER_DOMAIN: z.string().min(1).default('cluster.local'),
    SPILLWAY_OPS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_OPS_PORT: portSchema.default(9090),
    SPILLWAY_DNS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_DNS_PORT: portSchema.default(5353),
    ...planSourceEnv,
    /** Where the last good zone is kept over restarts; unset keeps none. */
    SPILLWAY_DNS_LAST_GOOD_FILE: z.string().optional(),
    /** How long to go on answering after being told to stop, until no client is sent here any more. */
    SPILLWAY_DNS_STOP_DELAY_MS: z.coerce.number().int().min(0).max(8_000).default(2_000),
    SPILLWAY_DNS_TCP_CONNECTIONS_MAX: z.coerce.number().int().min(1).max(100_000).default(256),
    SPILLWAY_DNS_TCP_CONNECTIONS_PER_SOURCE_MAX: z.coerce.number().int().min(1).max(100_000).default(64),
  })
  .transform((env) => ({
    logLevel: env.SPILLWAY_LOG_LEVEL,
    podName: env.SPILLWAY_POD_NAME,
    clusterDomain: env.SPILLWAY_CLUSTER_DOMAIN,
    nameServer: `spillway-spoke-dns.${env.SPILLWAY_NAMESPACE}.svc.${env.SPILLWAY_CLUSTER_DOMAIN}`,
    ops: { host: env.SPILLWAY_OPS_HOST, port: env.SPILLWAY_OPS_PORT },
    dns: { host: env.SPILLWAY_DNS_HOST, port: env.SPILLWAY_DNS_PORT },
    limits: { connectionsMax: env.SPILLWAY_DNS_TCP_CONNECTIONS_MAX, connectionsPerSourceMax: env.SPILLWAY_DNS_TCP_CONNECTIONS_PER_SOURCE_MAX },
    xds: planSourceOf(env),
    lastGoodFile: env.SPILLWAY_DNS_LAST_GOOD_FILE,
    stopDelayMs: env.SPILLWAY_DNS_STOP_DELAY_MS,
  }));

/** The parsed configuration. */
export type DnsConfig = z.output<typeof DnsConfigSchema>;
