import type { ClusterId } from '#domain/fleet';
import type { FrontendListener, PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';

import type { NftProtocol } from './nft-ruleset.js';

/** New connections that a node has led from one front-end address and port to one endpoint. */
export interface NftFlow {
  readonly address: string;
  readonly protocol: NftProtocol;
  readonly port: number;
  readonly endpoint: string;
  readonly endpointPort: number;
  /** Since the first of them; an endpoint that nobody was led to for an hour begins anew. */
  readonly connections: number;
}

/** A flow out of the fields that the kernel counts by. */
export function flowOfFields(fields: readonly (string | number)[], connections: number): NftFlow {
  const [address = '', protocol = 'tcp', port = 0, endpoint = '', endpointPort = 0] = fields;
  return { address: String(address), protocol: protocol === 'udp' ? 'udp' : 'tcp', port: Number(port), endpoint: String(endpoint), endpointPort: Number(endpointPort), connections };
}

/** New connections of one listener to one provider of one of its backends. */
export interface ProviderConnections {
  /** `namespace/name` of the frontend and its listener's name. */
  readonly listener: string;
  readonly backend: PlannedBackendId;
  readonly clusterId: ClusterId;
  readonly connections: number;
}

/**
 * Says whose the counted connections are. An endpoint that left the plan is nobody's any more: read flows before a change,
 * and its last connections count. Where two backends of a listener have one endpoint, the first of them is credited.
 */
export function connectionsByProvider(plan: RoutingPlan, flows: readonly NftFlow[]): readonly ProviderConnections[] {
  const backends = new Map<string, PlannedBackend>(plan.backends.map((backend) => [backend.id, backend]));
  const bySocket = new Map<string, NftFlow[]>();
  for (const flow of flows) {
    const key = socketKey(flow.address, flow.protocol, flow.port);
    const known = bySocket.get(key);
    if (known === undefined) bySocket.set(key, [flow]);
    else known.push(flow);
  }
  const counted = new Map<string, ProviderConnections>();
  for (const { namespace, name, addresses, listeners } of plan.frontends) {
    for (const listener of listeners) {
      const own = addresses.flatMap((address) => bySocket.get(socketKey(address, listener.protocol === 'UDP' ? 'udp' : 'tcp', listener.port)) ?? []);
      const owners = own.length === 0 ? new Map<string, Owner>() : ownersOf(listener, backends);
      for (const { endpoint, endpointPort, connections } of own) add(counted, `${namespace}/${name}/${listener.name}`, owners.get(`${endpoint} ${endpointPort}`), connections);
    }
  }
  return [...counted.values()];
}

interface Owner {
  readonly backend: PlannedBackendId;
  readonly clusterId: ClusterId;
}

// Backwards, so that the first to have an endpoint has the last word.
function ownersOf({ uses }: FrontendListener, backends: ReadonlyMap<string, PlannedBackend>): ReadonlyMap<string, Owner> {
  const providers = [...uses].reverse().flatMap(({ backend }) => (backends.get(backend)?.providers ?? []).map((provider) => ({ backend, ...provider })));
  return new Map(providers.flatMap(({ backend, clusterId, endpoints }) => endpoints.map(({ address, port }) => [`${address} ${port}`, { backend, clusterId }] as const)));
}

const socketKey = (address: string, protocol: string, port: number): string => `${address} ${protocol} ${port}`;

function add(counted: Map<string, ProviderConnections>, listener: string, owner: Owner | undefined, connections: number): void {
  if (owner === undefined) return;
  const key = `${listener} ${owner.backend} ${owner.clusterId}`;
  counted.set(key, { listener, ...owner, connections: connections + (counted.get(key)?.connections ?? 0) });
}
