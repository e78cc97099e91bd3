import { z } from 'zod';

import { readTextFile } from '#adapters/xds-grpc';
import { portSchema } from '#platform';

/** The part of the environment that says where a node or dns process gets its plan: the controller's xDS. */
export const planSourceEnv = {
  SPILLWAY_NAMESPACE: z.string().min(1).default('spillway-system'),
  /** Set by the kubelet for the Service spillway-spoke-controller, so no cluster DNS is needed to find it. */
  SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: z.string({ error: 'is missing: the Service spillway-spoke-controller must exist before this pod starts' }).min(1),
  SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: portSchema.default(9443),
  SPILLWAY_XDS_CA_FILE: z.string().default('/etc/spillway/xds-ca/ca.crt'),
  SPILLWAY_XDS_SERVER_NAME: z.string().optional(),
  SPILLWAY_XDS_TOKEN_FILE: z.string().default('/var/run/secrets/spillway/token'),
};

/** Where the controller listens, how it proves who it is, and the token that it is shown. */
export interface PlanSource {
  readonly target: string;
  readonly caFile: string;
  readonly serverName: string;
  readonly tokenFile: string;
}

/** The plan source that a parsed environment names. */
export const planSourceOf = (env: z.output<z.ZodObject<typeof planSourceEnv>>): PlanSource => ({
  target: hostAndPort(env.SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST, env.SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT),
  caFile: env.SPILLWAY_XDS_CA_FILE,
  serverName: env.SPILLWAY_XDS_SERVER_NAME ?? `spillway-spoke-controller.${env.SPILLWAY_NAMESPACE}.svc`,
  tokenFile: env.SPILLWAY_XDS_TOKEN_FILE,
});

/** How the xDS client connects to a plan source; without TLS it shows no token either. */
export const connectionTo = (source: PlanSource, usesTls: boolean) => ({
  target: source.target,
  tls: usesTls ? { readCaPem: readTextFile(source.caFile), serverName: source.serverName } : undefined,
  readToken: usesTls ? readTextFile(source.tokenFile) : undefined,
});

const hostAndPort = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
