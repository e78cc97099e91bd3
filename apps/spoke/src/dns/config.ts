import { z } from 'zod';

import { LOG_LEVELS, portSchema } from '#platform';

/** The dns role's configuration, from the environment. */
export const DnsConfigSchema = z
  .object({
    SPILLWAY_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
    SPILLWAY_NAMESPACE: z.string().min(1).default('spillway-system'),
    SPILLWAY_POD_NAME: z.string({ error: 'set it to the pod\'s name (fieldRef metadata.name): the controller knows this process by it' }).min(1),
    SPILLWAY_CLUSTER_DOMAIN: z.string().min(1).default('cluster.local'),
    SPILLWAY_OPS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_OPS_PORT: portSchema.default(9090),
    SPILLWAY_DNS_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_DNS_PORT: portSchema.default(5353),
    /** Set by the kubelet for the Service spillway-spoke-controller, so no cluster DNS is needed to find it. */
    SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: z.string({ error: 'is missing: the Service spillway-spoke-controller must exist before this pod starts' }).min(1),
    SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: portSchema.default(9443),
    SPILLWAY_XDS_CA_FILE: z.string().default('/etc/spillway/xds-ca/ca.crt'),
    SPILLWAY_XDS_SERVER_NAME: z.string().optional(),
    SPILLWAY_XDS_TOKEN_FILE: z.string().default('/var/run/secrets/spillway/token'),
    /** Where the last good zone is kept over restarts; unset keeps none. */
    SPILLWAY_DNS_LAST_GOOD_FILE: z.string().optional(),
    /** How long to go on answering after being told to stop, until no client is sent here any more. */
    SPILLWAY_DNS_STOP_DELAY_MS: z.coerce.number().int().min(0).max(8_000).default(2_000),
    SPILLWAY_DNS_TCP_CONNECTIONS_MAX: z.coerce.number().int().min(1).max(100_000).default(256),
    SPILLWAY_DNS_KEPT_RESPONSES_MAX: z.coerce.number().int().min(1).max(1_000_000).default(20_000),
  })
  .transform((env) => ({
    logLevel: env.SPILLWAY_LOG_LEVEL,
    podName: env.SPILLWAY_POD_NAME,
    clusterDomain: env.SPILLWAY_CLUSTER_DOMAIN,
    nameServer: `spillway-spoke-dns.${env.SPILLWAY_NAMESPACE}.svc.${env.SPILLWAY_CLUSTER_DOMAIN}`,
    ops: { host: env.SPILLWAY_OPS_HOST, port: env.SPILLWAY_OPS_PORT },
    dns: { host: env.SPILLWAY_DNS_HOST, port: env.SPILLWAY_DNS_PORT },
    limits: { connectionsMax: env.SPILLWAY_DNS_TCP_CONNECTIONS_MAX, keptResponsesMax: env.SPILLWAY_DNS_KEPT_RESPONSES_MAX },
    xds: {
      target: hostAndPort(env.SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST, env.SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT),
      caFile: env.SPILLWAY_XDS_CA_FILE,
      serverName: env.SPILLWAY_XDS_SERVER_NAME ?? `spillway-spoke-controller.${env.SPILLWAY_NAMESPACE}.svc`,
      tokenFile: env.SPILLWAY_XDS_TOKEN_FILE,
    },
    lastGoodFile: env.SPILLWAY_DNS_LAST_GOOD_FILE,
    stopDelayMs: env.SPILLWAY_DNS_STOP_DELAY_MS,
  }));

/** The parsed configuration. */
export type DnsConfig = z.output<typeof DnsConfigSchema>;

const hostAndPort = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
