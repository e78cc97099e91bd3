import { startDnsServer, type DnsServer } from '#adapters/dns-server';
import { registerXdsClientMetrics, startXdsClient, type XdsClient } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL } from '#contracts/envoy';
import { createLogger, createRegistry, loadConfig, startOpsServer, SystemClock, SystemRandom, type Env, type Logger, type OpsServer, type RunningProcess } from '#platform';
import type { Clock, Random } from '#ports';

import { connectionTo } from '../plan-source/plan-source-config.js';
import { DnsConfigSchema, type DnsConfig } from './config.js';
import { leadsHeadless, ServedZones } from './served-zones.js';

/** What a test may replace. */
export interface DnsRoleParts {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** False speaks plaintext to a controller on loopback. */
  readonly usesTls?: boolean;
}

/** A running dns role. */
export interface DnsRole extends RunningProcess {
  readonly dnsPort: number;
  readonly opsUrl: string;
}

/**
 * Starts the dns role: follows the controller's clusters, and answers for the Gateways' and the clusterset's zone from them.
 * Until it has zones, from the controller or from disk, every question gets SERVFAIL; after that it answers for ever, whether
 * the controller is there or not, but denies names only while it is. Throws ConfigError with every problem of the environment.
 */
export async function startDnsRole(env: Env, parts: DnsRoleParts = {}): Promise<DnsRole> {
  const config = loadConfig(DnsConfigSchema, env);
  const logger = parts.logger ?? createLogger({ app: 'spoke-dns', level: config.logLevel });
  const registry = createRegistry('spoke-dns');
  const clock = parts.clock ?? new SystemClock();
  const random = parts.random ?? new SystemRandom();
  const server = await startDnsServer({ ...config.dns, registry, random, limits: config.limits });
  const zones = new ServedZones(config, server, { clock, logger, registry });
  await zones.restore();
  const client = startXdsClient({
    ...connectionTo(config.xds, parts.usesTls ?? true),
    nodeId: config.podName,
    typeUrls: [CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL],
    // Other endpoints have no names: their changes need not wake this process.
    wantsLoadAssignment: leadsHeadless,
    onUpdate: (snapshot) => zones.update(snapshot),
    onCurrent: (isCurrent) => server.setCurrent(isCurrent),
    clock,
    random,
    logger,
  });
  registerXdsClientMetrics(registry, client);
  const ops = await startOpsServer({ ...config.ops, registry, readiness: { zones: () => zones.notReady(), process: () => zones.stopping() } });
  logger.info({ port: server.port, clusterDomain: config.clusterDomain, controller: config.xds.target }, 'dns role is running');
  return { dnsPort: server.port, opsUrl: ops.url, stop: () => stop({ config, clock, zones, client, server, ops }) };
}

interface Stoppable {
  readonly config: DnsConfig;
  readonly clock: Clock;
  readonly zones: ServedZones;
  readonly client: XdsClient;
  readonly server: DnsServer;
  readonly ops: OpsServer;
}

async function stop({ config, clock, zones, client, server, ops }: Stoppable): Promise<void> {
  zones.isStopping = true;
  await clock.sleep(config.stopDelayMs);
  await client.close();
  await server.close();
  await ops.close();
}
