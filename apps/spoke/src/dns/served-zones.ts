import { Gauge, type Registry } from 'prom-client';

import type { DnsServer } from '#adapters/dns-server';
import { buildClustersetZone, buildGatewayZone, gatewayZone, type DnsZone } from '#domain/dns-records';
import type { RoutingPlan } from '#domain/routing-plan';
import { parseFrontends, parseXdsSnapshot, type XdsCluster, type XdsSnapshot } from '#domain/xds-snapshot';
import type { Logger } from '#platform';
import type { Clock } from '#ports';

import { LastGoodFile } from '../plan-source/last-good-file.js';
import { planSchema } from '../plan-source/plan-schema.js';
import type { DnsConfig } from './config.js';

/** Whether a headless frontend leads to the cluster: its endpoints have names then. */
export const leadsHeadless = ({ metadata }: XdsCluster): boolean => metadata.frontends.some(({ isHeadless }) => isHeadless);

/** The zones that the server answers from, and where they came from. */
export class ServedZones {
  readonly #lastGood: LastGoodFile<RoutingPlan>;
  #source: 'none' | 'disk' | 'controller' = 'none';
  #zones: readonly DnsZone[] = [];
  #last: { readonly snapshot: XdsSnapshot; readonly plan: RoutingPlan; readonly gateways: DnsZone } | undefined;
  isStopping = false;

  constructor(
    private readonly config: DnsConfig,
    private readonly server: DnsServer,
    private readonly parts: { readonly clock: Clock; readonly logger: Logger; readonly registry: Registry },
  ) {
    this.#lastGood = new LastGoodFile(config.lastGoodFile, planSchema, parts.logger);
    const names: Gauge<'zone'> = new Gauge({
      name: 'spillway_dns_zone_names',
      help: 'Names that exist in each zone.',
      labelNames: ['zone'],
      registers: [parts.registry],
      collect: () => {
        for (const zone of this.#zones) names.set({ zone: zone.origin }, zone.names.size);
      },
    });
  }

  /** Answers from what was saved last, if anything was. */
  async restore(): Promise<void> {
    const plan = await this.#lastGood.load();
    if (plan === undefined) return;
    this.#serve([this.#buildGateways(plan), this.#buildClusterset(plan)], 'disk');
    this.parts.logger.info({ names: this.#zones.reduce((count, { names }) => count + names.size, 0) }, 'answering from the last good zones until the controller is reached');
  }

  /** Answers from a snapshot: all clusters, and the load assignments of those that headless frontends lead to. */
  async update(snapshot: XdsSnapshot): Promise<void> {
    const same = this.#last?.snapshot.clusters === snapshot.clusters ? this.#last : undefined;
    const plan: RoutingPlan = { frontends: same?.plan.frontends ?? parseFrontends(snapshot.clusters), backends: headlessBackends(snapshot), gatewayPorts: [] };
    const gateways = same?.gateways ?? this.#buildGateways(plan);
    this.#last = { snapshot, plan, gateways };
    this.#serve([gateways, this.#buildClusterset(plan)], 'controller');
    await this.#lastGood.save(plan);
  }

  notReady(): string | undefined {
    return this.#source === 'none' ? 'no zones yet: the controller was not reached, and no last good zones were saved' : undefined;
  }

  stopping(): string | undefined {
    return this.isStopping ? 'stopping' : undefined;
  }

  #serve(zones: readonly DnsZone[], source: 'disk' | 'controller'): void {
    this.server.setZones(zones);
    this.#zones = zones;
    this.#source = source;
  }

  #buildGateways({ frontends }: RoutingPlan): DnsZone {
    return buildGatewayZone(frontends, { origin: gatewayZone(this.config.clusterDomain), ...this.#zoneOptions() });
  }

  #buildClusterset(plan: RoutingPlan): DnsZone {
    return buildClustersetZone(plan, this.#zoneOptions());
  }

  #zoneOptions(): { readonly nameServer: string; readonly serial: number } {
    return { nameServer: this.config.nameServer, serial: Math.floor(this.parts.clock.nowMs() / 1_000) };
  }
}

// A backend whose endpoints did not come is not known, which is not the same as one without endpoints.
function headlessBackends({ clusters, loadAssignments }: XdsSnapshot): RoutingPlan['backends'] {
  const assigned = new Set(loadAssignments.map(({ name }) => name));
  const known = clusters.filter((cluster) => leadsHeadless(cluster) && cluster.edsServiceName !== undefined && assigned.has(cluster.edsServiceName));
  return parseXdsSnapshot({ clusters: known, loadAssignments }).backends;
}
