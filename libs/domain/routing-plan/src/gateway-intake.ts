import { byKey, splitBackendName, type GatewayIntake, type GatewayOpening } from '#domain/fleet';
import type { RouteTarget } from '#domain/gateway-api';

import { gatewayPortKey } from './frontend-key.js';
import type { NodeObject } from './local-objects.js';
import type { GatewayPort, PlannedBackendId } from './routing-plan.js';

/** What a backend of a plan means: what a route leads to, or this cluster's part alone of a CompositeBackend. */
export type BackendTarget = Omit<RouteTarget, 'weight' | 'kind'> & { readonly kind: RouteTarget['kind'] | 'local' };

/** The plan's id of what a target means. */
export const plannedBackendId = ({ kind, namespace, name, port }: BackendTarget): PlannedBackendId => `${kind}:${namespace}/${name}/${port.port}/${port.protocol}` as PlannedBackendId;

/** What a gateway port leads to: this cluster's endpoints alone, so that no call is ever passed on to a third cluster. */
export const localTarget = ({ backend, port }: GatewayOpening): BackendTarget => ({ kind: 'local', ...splitBackendName(backend), port });

/** Ports of the gateway nodes, with the addresses of everyone that the hub lets call. Without a gateway node there is none. */
export function planGatewayIntake({ openings, callers }: GatewayIntake, nodes: readonly NodeObject[]): readonly GatewayPort[] {
  const gateways = nodes.filter((node) => node.isGateway).map((node) => node.name).sort();
  if (gateways.length === 0) return [];
  const addresses = new Map(callers.map((caller) => [caller.clusterId, caller.addresses]));
  const ports = openings.map((opening): GatewayPort => ({
    port: opening.gatewayPort,
    protocol: opening.port.protocol,
    backend: plannedBackendId(localTarget(opening)),
    nodes: gateways,
    sources: [...new Set(opening.callers.flatMap((id) => addresses.get(id) ?? []))].sort(),
  }));
  // The hub gives a number once; of two that claim it, none may win by chance.
  const distinct = new Map([...ports].reverse().map((port) => [gatewayPortKey(port), port]));
  return [...distinct.values()].sort(byKey(gatewayPortKey));
}
