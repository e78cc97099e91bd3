import { Gauge, type Registry } from 'prom-client';
import { z } from 'zod';

import { startDnsServer, type DnsServer } from '#adapters/dns-server';
import { registerXdsClientMetrics, startXdsClient, type XdsClient } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import { buildDnsZone, gatewayZone } from '#domain/dns-records';
import type { Frontend } from '#domain/routing-plan';
import { parseFrontends, type XdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, createRegistry, loadConfig, startOpsServer, SystemClock, SystemRandom, type Env, type Logger, type OpsServer, type RunningProcess } from '#platform';
import type { Clock, Random } from '#ports';

import { LastGoodFile } from '../plan-source/last-good-file.js';
import { frontendSchema } from '../plan-source/plan-schema.js';
import { connectionTo } from '../plan-source/plan-source-config.js';
import { DnsConfigSchema, type DnsConfig } from './config.js';

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
 * Starts the dns role: follows the controller's clusters, and answers for the Gateway zone from them. Until it has a zone,
 * from the controller or from disk, every question gets SERVFAIL; after that it answers for ever, whether the controller
 * is there or not. Throws ConfigError with every problem of the environment.
 */
export async function startDnsRole(env: Env, parts: DnsRoleParts = {}): Promise<DnsRole> {
  const config = loadConfig(DnsConfigSchema, env);
  const logger = parts.logger ?? createLogger({ app: 'spoke-dns', level: config.logLevel });
  const registry = createRegistry('spoke-dns');
  const clock = parts.clock ?? new SystemClock();
  const server = await startDnsServer({ ...config.dns, registry, limits: config.limits });
  const zone = new ServedZone(config, server, { clock, logger, registry });
  await zone.restore();
  const client = startXdsClient({
    ...connectionTo(config.xds, parts.usesTls ?? true),
    nodeId: config.podName,
    // Endpoints have no names here: their changes need not wake this process.
    typeUrls: [CLUSTER_TYPE_URL],
    onUpdate: (snapshot) => zone.update(snapshot),
    clock,
    random: parts.random ?? new SystemRandom(),
    logger,
  });
  registerXdsClientMetrics(registry, client);
  const ops = await startOpsServer({ ...config.ops, registry, readiness: { zone: () => zone.notReady(), process: () => zone.stopping() } });
  logger.info({ port: server.port, zone: gatewayZone(config.clusterDomain), controller: config.xds.target }, 'dns role is running');
  return { dnsPort: server.port, opsUrl: ops.url, stop: () => stop({ config, clock, zone, client, server, ops }) };
}

interface Stoppable {
  readonly config: DnsConfig;
  readonly clock: Clock;
  readonly zone: ServedZone;
  readonly client: XdsClient;
  readonly server: DnsServer;
  readonly ops: OpsServer;
}

async function stop({ config, clock, zone, client, server, ops }: Stoppable): Promise<void> {
  zone.isStopping = true;
  await clock.sleep(config.stopDelayMs);
  await client.close();
  await server.close();
  await ops.close();
}

/** The zone that the server answers from, and where it came from. */
class ServedZone {
  readonly #lastGood: LastGoodFile<readonly Frontend[]>;
  #source: 'none' | 'disk' | 'controller' = 'none';
  #nameCount = 0;
  isStopping = false;

  constructor(
    private readonly config: DnsConfig,
    private readonly server: DnsServer,
    private readonly parts: { readonly clock: Clock; readonly logger: Logger; readonly registry: Registry },
  ) {
    this.#lastGood = new LastGoodFile(config.lastGoodFile, z.array(frontendSchema), parts.logger);
    const names: Gauge = new Gauge({ name: 'spillway_dns_zone_names', help: 'Names that exist in the zone.', registers: [parts.registry], collect: () => names.set(this.#nameCount) });
  }

  /** Answers from what was saved last, if anything was. */
  async restore(): Promise<void> {
    const frontends = await this.#lastGood.load();
    if (frontends === undefined) return;
    this.#serve(frontends, 'disk');
    this.parts.logger.info({ names: this.#nameCount }, 'answering from the last good zone until the controller is reached');
  }

  async update(snapshot: XdsSnapshot): Promise<void> {
    const frontends = parseFrontends(snapshot.clusters);
    this.#serve(frontends, 'controller');
    await this.#lastGood.save(frontends);
  }

  notReady(): string | undefined {
    return this.#source === 'none' ? 'no zone yet: the controller was not reached, and no last good zone was saved' : undefined;
  }

  stopping(): string | undefined {
    return this.isStopping ? 'stopping' : undefined;
  }

  #serve(frontends: readonly Frontend[], source: 'disk' | 'controller'): void {
    const { clusterDomain, nameServer } = this.config;
    const zone = buildDnsZone(frontends, { origin: gatewayZone(clusterDomain), nameServer, serial: Math.floor(this.parts.clock.nowMs() / 1_000) });
    this.server.setZone(zone);
    this.#source = source;
    this.#nameCount = zone.names.size;
  }
}
