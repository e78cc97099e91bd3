import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '#ports';
import { Secret } from '#platform';

/** How to reach and trust one API server, and who we are there. Everything is data; nothing names a file or a program. */
export interface KubeConnection {
  /** `https://host:port`, with an optional path prefix. */
  readonly server: string;
  /** Certificate authorities as PEM; undefined trusts the system's own. */
  readonly caPem?: string | undefined;
  /** Name that the server's certificate must carry, where it differs from the host. */
  readonly tlsServerName?: string | undefined;
  readonly credential: KubeCredential;
}

/** Who we are to an API server. */
export type KubeCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: TokenSource }
  | { readonly kind: 'client-certificate'; readonly certificatePem: string; readonly key: Secret };

/** A bearer token that may change under us. */
export interface TokenSource {
  /** The token to use now; `renew` says that the server refused the last one. */
  current(renew: boolean): Promise<Secret>;
}

/** A token that never changes. */
export const fixedToken = (token: Secret): TokenSource => ({ current: async () => token });

/** How long a token read from a file is used before it is read again: the kubelet replaces it well before it expires. */
export const TOKEN_FILE_TTL_MS = 30_000;

/** A token that the kubelet keeps fresh in a file. */
export function fileToken(path: string, clock: Clock): TokenSource {
  let cached: { readonly token: Secret; readonly readAtMs: number } | undefined;
  return {
    async current(renew) {
      const nowMs = clock.monotonicMs();
      if (cached !== undefined && !renew && nowMs - cached.readAtMs < TOKEN_FILE_TTL_MS) return cached.token;
      cached = { token: new Secret((await readFile(path, 'utf8')).trim()), readAtMs: nowMs };
      return cached.token;
    },
  };
}

/** Where the kubelet mounts a pod's ServiceAccount. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The connection of a pod to its own cluster, from the kubelet's service variables and the mounted ServiceAccount. */
export async function inClusterConnection(options: {
  /** KUBERNETES_SERVICE_HOST. */
  readonly host: string;
  /** KUBERNETES_SERVICE_PORT. */
  readonly port: string;
  readonly clock: Clock;
  /** Default is {@link SERVICE_ACCOUNT_FOLDER}. */
  readonly folder?: string | undefined;
}): Promise<KubeConnection> {
  const folder = options.folder ?? SERVICE_ACCOUNT_FOLDER;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    server: `https://${host}:${options.port}`,
    caPem: await readFile(join(folder, 'ca.crt'), 'utf8'),
    credential: { kind: 'token', token: fileToken(join(folder, 'token'), options.clock) },
  };
}
