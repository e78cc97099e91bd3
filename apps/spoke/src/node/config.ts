import { z } from 'zod';

import { durationMsSchema, LOG_LEVELS, portSchema } from '#platform';

/** The node role's configuration, from the environment. */
export const NodeConfigSchema = z
  .object({
    SPILLWAY_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
    SPILLWAY_NAMESPACE: z.string().min(1).default('spillway-system'),
    SPILLWAY_NODE_NAME: z.string({ error: 'set it to the node\'s name (fieldRef spec.nodeName): the controller knows this process by it' }).min(1),
    SPILLWAY_OPS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_OPS_PORT: portSchema.default(9091),
    /** Set by the kubelet for the Service spillway-spoke-controller, so no cluster DNS is needed to find it. */
    SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: z.string({ error: 'is missing: the Service spillway-spoke-controller must exist before this pod starts' }).min(1),
    SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: portSchema.default(9443),
    SPILLWAY_XDS_CA_FILE: z.string().default('/etc/spillway/xds-ca/ca.crt'),
    SPILLWAY_XDS_SERVER_NAME: z.string().optional(),
    SPILLWAY_XDS_TOKEN_FILE: z.string().default('/var/run/secrets/spillway/token'),
    /** Where the last good plan is kept over restarts, for a kernel that has lost the table; unset keeps none. */
    SPILLWAY_NODE_LAST_GOOD_FILE: z.string().optional(),
    SPILLWAY_NODE_LAST_GOOD_INTERVAL_MS: durationMsSchema.default(10_000),
    /** How often the table is looked at although no notification said that it changed, and its counter read. */
    SPILLWAY_NODE_CHECK_INTERVAL_MS: durationMsSchema.default(10_000),
    /** Shortest time between two restorations, should somebody else go on changing the table. */
    SPILLWAY_NODE_RESTORE_INTERVAL_MS: durationMsSchema.default(200),
  })
  .transform((env) => ({
    logLevel: env.SPILLWAY_LOG_LEVEL,
    nodeName: env.SPILLWAY_NODE_NAME,
    ops: { host: env.SPILLWAY_OPS_HOST, port: env.SPILLWAY_OPS_PORT },
    xds: {
      target: hostAndPort(env.SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST, env.SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT),
      caFile: env.SPILLWAY_XDS_CA_FILE,
      serverName: env.SPILLWAY_XDS_SERVER_NAME ?? `spillway-spoke-controller.${env.SPILLWAY_NAMESPACE}.svc`,
      tokenFile: env.SPILLWAY_XDS_TOKEN_FILE,
    },
    lastGood: { file: env.SPILLWAY_NODE_LAST_GOOD_FILE, intervalMs: env.SPILLWAY_NODE_LAST_GOOD_INTERVAL_MS },
    checkIntervalMs: env.SPILLWAY_NODE_CHECK_INTERVAL_MS,
    restoreIntervalMs: env.SPILLWAY_NODE_RESTORE_INTERVAL_MS,
  }));

/** The parsed configuration. */
export type NodeConfig = z.output<typeof NodeConfigSchema>;

const hostAndPort = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
