import { z } from 'zod';

import { durationMsSchema, logLevelSchema } from '#platform';

/** The leave role's configuration, from the environment. */
export const LeaveConfigSchema = z
  .object({
    SPILLWAY_LOG_LEVEL: logLevelSchema,
    SPILLWAY_NAMESPACE: z.string().min(1).default('spillway-system'),
    /** Set by the kubelet in every pod. */
    KUBERNETES_SERVICE_HOST: z.string({ error: 'is missing: this role runs in a pod of the cluster that is left' }).min(1),
    KUBERNETES_SERVICE_PORT: z.string().default('443'),
    SPILLWAY_SERVICE_ACCOUNT_FOLDER: z.string().optional(),
    SPILLWAY_LEAVE_WAIT_MS: durationMsSchema.default(180_000),
  })
  .transform((env) => ({
    logLevel: env.SPILLWAY_LOG_LEVEL,
    namespace: env.SPILLWAY_NAMESPACE,
    kube: { host: env.KUBERNETES_SERVICE_HOST, port: env.KUBERNETES_SERVICE_PORT, folder: env.SPILLWAY_SERVICE_ACCOUNT_FOLDER },
    waitMs: env.SPILLWAY_LEAVE_WAIT_MS,
  }));
