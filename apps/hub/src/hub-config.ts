import { z } from 'zod';

import { DEFAULT_GATEWAY_PORT_RANGE, parseGatewayPortRange, type GatewayPortRange } from '#domain/topology';
import { encryptionKeyOf, flagSchema, hasOneEncryptionKey, hubSideEnv, loadConfig, type LOG_LEVELS, oneEncryptionKey, portSchema, Secret, type EncryptionKey, type Env } from '#platform';

/** The hub's configuration: total, parsed once. */
export interface HubConfig {
  readonly databaseUrl: Secret;
  /** Address of the machine listener as members reach it; join tokens carry it, and the serving certificate is for its host. */
  readonly publicUrl: string;
  readonly encryptionKey: EncryptionKey;
  readonly people: ListenConfig;
  readonly machines: ListenConfig;
  /** Connections of one source address to the machine listener. */
  readonly machineConnectionsPerSourceMax: number;
  readonly adminToken: Secret | undefined;
  readonly viewerToken: Secret | undefined;
  readonly allowLocalClusters: boolean;
  readonly graphiql: boolean;
  readonly gatewayPorts: GatewayPortRange;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** Where a listener listens; port 0 lets the kernel choose. */
export interface ListenConfig {
  readonly host: string;
  readonly port: number;
}

const tokenSchema = z.string().min(16, 'a token needs at least 16 characters').regex(/^[\x21-\x7e]+$/, 'a token is one line of printable characters without spaces').transform((text) => new Secret(text));

const gatewayPortRangeSchema = z
  .string()
  .default(`${DEFAULT_GATEWAY_PORT_RANGE.first}-${DEFAULT_GATEWAY_PORT_RANGE.last}`)
  .superRefine((text, context) => {
    const range = parseGatewayPortRange(text);
    if (typeof range === 'string') context.addIssue({ code: 'custom', message: range });
  });

/** The environment that the hub reads; every problem is told at once. */
export const HubEnvSchema = z
  .object({
    ...hubSideEnv,
    SPILLWAY_PEOPLE_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_PEOPLE_PORT: portSchema.default(8080),
    SPILLWAY_MACHINE_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_MACHINE_PORT: portSchema.default(8443),
    SPILLWAY_MACHINE_CONNECTIONS_PER_SOURCE_MAX: z.coerce.number().int().min(1).max(10_000).default(2_500),
    SPILLWAY_ADMIN_TOKEN: tokenSchema.optional(),
    SPILLWAY_VIEWER_TOKEN: tokenSchema.optional(),
    SPILLWAY_GRAPHIQL: flagSchema.default(false),
    /** Numbers that gateway ports are given from. */
    SPILLWAY_GATEWAY_PORT_RANGE: gatewayPortRangeSchema,
  })
  .refine(hasOneEncryptionKey, oneEncryptionKey);

/** Reads the hub's configuration. Throws ConfigError with every problem. */
export function loadHubConfig(env: Env): HubConfig {
  const read = loadConfig(HubEnvSchema, env);
  return Object.freeze({
    databaseUrl: read.SPILLWAY_DATABASE_URL,
    publicUrl: read.SPILLWAY_PUBLIC_URL,
    encryptionKey: encryptionKeyOf(read),
    people: { host: read.SPILLWAY_PEOPLE_HOST, port: read.SPILLWAY_PEOPLE_PORT },
    machines: { host: read.SPILLWAY_MACHINE_HOST, port: read.SPILLWAY_MACHINE_PORT },
    machineConnectionsPerSourceMax: read.SPILLWAY_MACHINE_CONNECTIONS_PER_SOURCE_MAX,
    adminToken: read.SPILLWAY_ADMIN_TOKEN,
    viewerToken: read.SPILLWAY_VIEWER_TOKEN,
    allowLocalClusters: read.SPILLWAY_ALLOW_LOCAL_CLUSTERS,
    graphiql: read.SPILLWAY_GRAPHIQL,
    gatewayPorts: gatewayPortRangeOf(read.SPILLWAY_GATEWAY_PORT_RANGE),
    logLevel: read.SPILLWAY_LOG_LEVEL,
  });
}

// What is no range was refused with its reason before.
function gatewayPortRangeOf(text: string): GatewayPortRange {
  const range = parseGatewayPortRange(text);
  return typeof range === 'string' ? DEFAULT_GATEWAY_PORT_RANGE : range;
}
