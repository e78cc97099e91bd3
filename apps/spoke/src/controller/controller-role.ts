import { HttpHubLink } from '#adapters/hub-link';
import { HttpKube, inClusterConnection } from '#adapters/kube';
import { createLogger, createRegistry, loadConfig, startOpsServer, SystemClock, SystemRandom, type Env, type RunningProcess } from '#platform';

import { ControllerConfigSchema } from './config.js';
import { Controller } from './controller.js';
import { TokenReviewer } from './xds/token-reviewer.js';
import { DNS_ACCOUNT, NODE_ACCOUNT, XdsListener } from './xds/xds-listener.js';

const SERVICE_NAME = 'spillway-spoke-controller';
const TOKEN_LIMITS = { trustMs: 60_000, refuseMs: 5_000, cacheEntriesMax: 10_000, asksMax: 16, refusalsPerSourceMax: 20, refusalWindowMs: 60_000 } as const;
const TLS_CHECK_MS = 60_000;

/**
 * Starts the controller role in a pod of the cluster that it serves; `version` is told to the hub. Throws ConfigError with
 * every problem of the environment.
 */
export async function startControllerRole(env: Env, version: string): Promise<RunningProcess> {
  const config = loadConfig(ControllerConfigSchema, env);
  const { namespace } = config.controller;
  const [clock, random] = [new SystemClock(), new SystemRandom()];
  const logger = createLogger({ app: 'spoke-controller', level: config.logLevel });
  const registry = createRegistry('spoke-controller');
  const kube = new HttpKube(await inClusterConnection({ ...config.kube, clock }), { clock, random });
  const link = new HttpHubLink({ clock, version });
  const reviewer = new TokenReviewer(kube, clock, { namespace, audience: 'spillway-xds', serviceAccounts: [NODE_ACCOUNT, DNS_ACCOUNT], ...TOKEN_LIMITS });
  const server = new XdsListener({ kube, clock, random, logger, registry, reviewer, options: { ...config.xds, namespace, serviceName: SERVICE_NAME, tlsSecretName: 'spillway-xds-tls', caConfigMapName: 'spillway-xds-ca', checkMs: TLS_CHECK_MS } });
  const controller = new Controller({ kube, link, clock, random, logger, registry, server }, config.controller);
  const ops = await startOpsServer({ ...config.ops, registry, readiness: { ...controller.readiness, xds: () => server.notReady() } });
  controller.start();
  server.start();
  logger.info({ namespace, pod: config.controller.podName, opsPort: ops.port }, 'controller role is running');
  return {
    stop: async () => {
      await controller.stop();
      await server.close();
      await ops.close();
      link.close();
      kube.close();
    },
  };
}
