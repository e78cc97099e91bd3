import { z } from 'zod';

import { durationMsSchema, logLevelSchema, portSchema } from '#platform';

import { planSourceEnv, planSourceOf } from '../plan-source/plan-source-config.js';

/** The node role's configuration, from the environment. */
export const NodeConfigSchema = z
  .object({
    SPILLWAY_LOG_LEVEL: logLevelSchema,
    SPILLWAY_NODE_NAME: z.string({ error: 'set it to the node\'s name (fieldRef spec.nodeName): the controller knows this process by it' }).min(1),
    SPILLWAY_OPS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_OPS_PORT: portSchema.default(9091),
    ...planSourceEnv,
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
    xds: planSourceOf(env),
    lastGood: { file: env.SPILLWAY_NODE_LAST_GOOD_FILE, intervalMs: env.SPILLWAY_NODE_LAST_GOOD_INTERVAL_MS },
    checkIntervalMs: env.SPILLWAY_NODE_CHECK_INTERVAL_MS,
    restoreIntervalMs: env.SPILLWAY_NODE_RESTORE_INTERVAL_MS,
  }));
