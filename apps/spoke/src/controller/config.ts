import { z } from 'zod';

import { durationMsSchema, logLevelSchema, portSchema } from '#platform';

import { DEFAULT_CONTROLLER_OPTIONS as DEFAULTS } from './controller-options.js';

/** The controller role's configuration, from the environment. */
export const ControllerConfigSchema = z
  .object({
    SPILLWAY_LOG_LEVEL: logLevelSchema,
    SPILLWAY_NAMESPACE: z.string().min(1).default(DEFAULTS.namespace),
    SPILLWAY_POD_NAME: z.string({ error: 'set it to the pod\'s name (fieldRef metadata.name): it is the holder of the Lease' }).min(1),
    SPILLWAY_CLUSTER_DOMAIN: z.string().min(1).default(DEFAULTS.clusterDomain),
    /** Set by the kubelet in every pod. */
    KUBERNETES_SERVICE_HOST: z.string({ error: 'is missing: the controller runs in a pod of the cluster that it serves' }).min(1),
    KUBERNETES_SERVICE_PORT: z.string().default('443'),
    SPILLWAY_SERVICE_ACCOUNT_FOLDER: z.string().optional(),
    SPILLWAY_OPS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_OPS_PORT: portSchema.default(9090),
    SPILLWAY_XDS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_XDS_PORT: portSchema.default(9443),
    SPILLWAY_PLAN_DEBOUNCE_MS: z.coerce.number().int().min(0).max(1_000).default(DEFAULTS.planDebounceMs),
    SPILLWAY_LEASE_DURATION_MS: durationMsSchema.default(DEFAULTS.leaseDurationMs),
    SPILLWAY_LEASE_RENEW_MS: durationMsSchema.default(DEFAULTS.leaseRenewMs),
    SPILLWAY_REPORT_INTERVAL_MS: durationMsSchema.default(DEFAULTS.reportIntervalMs),
    SPILLWAY_SYNC_WAIT_MS: durationMsSchema.max(60_000, 'the hub answers after at most 60,000 ms').default(DEFAULTS.syncWaitMs),
    SPILLWAY_LAST_GOOD_INTERVAL_MS: durationMsSchema.default(DEFAULTS.lastGoodIntervalMs),
    SPILLWAY_EPOCH_GRACE_MS: durationMsSchema.default(DEFAULTS.epochGraceMs),
    SPILLWAY_KEY_AGE_MAX_MS: durationMsSchema.min(60_000, 'a key lives for a minute at least').default(DEFAULTS.keyAgeMaxMs),
  })
  .refine((config) => config.SPILLWAY_LEASE_RENEW_MS * 2 <= config.SPILLWAY_LEASE_DURATION_MS, { path: ['SPILLWAY_LEASE_RENEW_MS'], message: 'renew at least twice within SPILLWAY_LEASE_DURATION_MS' })
  .transform((env) => ({
    logLevel: env.SPILLWAY_LOG_LEVEL,
    kube: { host: env.KUBERNETES_SERVICE_HOST, port: env.KUBERNETES_SERVICE_PORT, folder: env.SPILLWAY_SERVICE_ACCOUNT_FOLDER },
    ops: { host: env.SPILLWAY_OPS_HOST, port: env.SPILLWAY_OPS_PORT },
    xds: { host: env.SPILLWAY_XDS_HOST, port: env.SPILLWAY_XDS_PORT },
    controller: {
      ...DEFAULTS,
      namespace: env.SPILLWAY_NAMESPACE,
      podName: env.SPILLWAY_POD_NAME,
      clusterDomain: env.SPILLWAY_CLUSTER_DOMAIN,
      planDebounceMs: env.SPILLWAY_PLAN_DEBOUNCE_MS,
      leaseDurationMs: env.SPILLWAY_LEASE_DURATION_MS,
      leaseRenewMs: env.SPILLWAY_LEASE_RENEW_MS,
      reportIntervalMs: env.SPILLWAY_REPORT_INTERVAL_MS,
      syncWaitMs: env.SPILLWAY_SYNC_WAIT_MS,
      lastGoodIntervalMs: env.SPILLWAY_LAST_GOOD_INTERVAL_MS,
      epochGraceMs: env.SPILLWAY_EPOCH_GRACE_MS,
      keyAgeMaxMs: env.SPILLWAY_KEY_AGE_MAX_MS,
    },
  }));
