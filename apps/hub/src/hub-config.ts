import { z } from 'zod';

import { flagSchema, loadConfig, LOG_LEVELS, portSchema, Secret, type Env } from '#platform';

/** The hub's configuration: total, parsed once. */
export interface HubConfig {
  readonly databaseUrl: Secret;
  /** Address of the machine listener as members reach it; join tokens carry it, and the serving certificate is for its host. */
  readonly publicUrl: string;
  /** Keys that seal kubeconfigs, or the file that has them. */
  readonly encryptionKey: { readonly keys: Secret } | { readonly file: string };
  readonly people: ListenConfig;
  readonly machines: ListenConfig;
  readonly adminToken: Secret | undefined;
  readonly viewerToken: Secret | undefined;
  readonly allowLocalClusters: boolean;
  readonly graphiql: boolean;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** Where a listener listens; port 0 lets the kernel choose. */
export interface ListenConfig {
  readonly host: string;
  readonly port: number;
}

const secretSchema = z.string().transform((text) => new Secret(text));
const tokenSchema = z.string().min(16, 'a token needs at least 16 characters').regex(/^[\x21-\x7e]+$/, 'a token is one line of printable characters without spaces').transform((text) => new Secret(text));

/** The environment that the hub reads; every problem is told at once. */
export const HubEnvSchema = z
  .object({
    SPILLWAY_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'give the database as postgres://user:password@host:port/name' }).transform((text) => new Secret(text)),
    SPILLWAY_PUBLIC_URL: z.url({ protocol: /^https$/, error: 'give the https address at which members reach the machine listener, such as https://hub.example.com:8443' }).transform((text) => text.replace(/\/+$/, '')),
    SPILLWAY_ENCRYPTION_KEY: secretSchema.optional(),
    SPILLWAY_ENCRYPTION_KEY_FILE: z.string().optional(),
    SPILLWAY_PEOPLE_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_PEOPLE_PORT: portSchema.default(8080),
    SPILLWAY_MACHINE_HOST: z.string().default('0.0.0.0'),
    SPILLWAY_MACHINE_PORT: portSchema.default(8443),
    SPILLWAY_ADMIN_TOKEN: tokenSchema.optional(),
    SPILLWAY_VIEWER_TOKEN: tokenSchema.optional(),
    SPILLWAY_ALLOW_LOCAL_CLUSTERS: flagSchema.default(false),
    SPILLWAY_GRAPHIQL: flagSchema.default(false),
    SPILLWAY_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  })
  .refine((env) => (env.SPILLWAY_ENCRYPTION_KEY === undefined) !== (env.SPILLWAY_ENCRYPTION_KEY_FILE === undefined), {
    path: ['SPILLWAY_ENCRYPTION_KEY'],
    error: 'give either SPILLWAY_ENCRYPTION_KEY or SPILLWAY_ENCRYPTION_KEY_FILE: 32 random bytes in base64 (openssl rand -base64 32)',
    // Told beside the problems of other variables, not only once those are mended.
    when: () => true,
  });

/** Reads the hub's configuration. Throws ConfigError with every problem. */
export function loadHubConfig(env: Env): HubConfig {
  const read = loadConfig(HubEnvSchema, env);
  return Object.freeze({
    databaseUrl: read.SPILLWAY_DATABASE_URL,
    publicUrl: read.SPILLWAY_PUBLIC_URL,
    encryptionKey: read.SPILLWAY_ENCRYPTION_KEY === undefined ? { file: read.SPILLWAY_ENCRYPTION_KEY_FILE ?? '' } : { keys: read.SPILLWAY_ENCRYPTION_KEY },
    people: { host: read.SPILLWAY_PEOPLE_HOST, port: read.SPILLWAY_PEOPLE_PORT },
    machines: { host: read.SPILLWAY_MACHINE_HOST, port: read.SPILLWAY_MACHINE_PORT },
    adminToken: read.SPILLWAY_ADMIN_TOKEN,
    viewerToken: read.SPILLWAY_VIEWER_TOKEN,
    allowLocalClusters: read.SPILLWAY_ALLOW_LOCAL_CLUSTERS,
    graphiql: read.SPILLWAY_GRAPHIQL,
    logLevel: read.SPILLWAY_LOG_LEVEL,
  });
}
