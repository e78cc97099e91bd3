import { z } from 'zod';

import { flagSchema, logLevelSchema } from './config.js';
import { Secret } from './secret.js';

/** Keys that seal kubeconfigs and the hub CA's key, or the file that has them. */
export type EncryptionKey = { readonly keys: Secret } | { readonly file: string };

/** The part of the environment in which hub and worker must agree, since they work on one database. */
export const hubSideEnv = {
  SPILLWAY_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'give the database as postgres://user:password@host:port/name' }).transform((text) => new Secret(text)),
  /** Address of the machine listener as members reach it: join tokens carry it, and the serving certificate is for its host. */
  SPILLWAY_PUBLIC_URL: z.url({ protocol: /^https$/, error: 'give the https address at which members reach the machine listener, such as https://hub.example.com:8443' }).transform((text) => text.replace(/\/+$/, '')),
  SPILLWAY_ENCRYPTION_KEY: z.string().transform((text) => new Secret(text)).optional(),
  SPILLWAY_ENCRYPTION_KEY_FILE: z.string().optional(),
  /** Whether API servers may be on loopback and link-local addresses. */
  SPILLWAY_ALLOW_LOCAL_CLUSTERS: flagSchema.default(false),
  SPILLWAY_LOG_LEVEL: logLevelSchema,
};

interface EncryptionKeyEnv {
  readonly SPILLWAY_ENCRYPTION_KEY?: Secret | undefined;
  readonly SPILLWAY_ENCRYPTION_KEY_FILE?: string | undefined;
}

/** Whether the encryption key is given in one of its two ways. */
export const hasOneEncryptionKey = (env: EncryptionKeyEnv): boolean => (env.SPILLWAY_ENCRYPTION_KEY === undefined) !== (env.SPILLWAY_ENCRYPTION_KEY_FILE === undefined);

/** What to say where it is not, told beside the problems of other variables and not only once those are mended. */
export const oneEncryptionKey = {
  path: ['SPILLWAY_ENCRYPTION_KEY'],
  error: 'give either SPILLWAY_ENCRYPTION_KEY or SPILLWAY_ENCRYPTION_KEY_FILE: 32 random bytes in base64 (openssl rand -base64 32), the same for hub and worker',
  when: () => true,
};

/** The encryption key that a checked environment names. */
export const encryptionKeyOf = (env: EncryptionKeyEnv): EncryptionKey =>
  env.SPILLWAY_ENCRYPTION_KEY === undefined ? { file: env.SPILLWAY_ENCRYPTION_KEY_FILE ?? '' } : { keys: env.SPILLWAY_ENCRYPTION_KEY };
