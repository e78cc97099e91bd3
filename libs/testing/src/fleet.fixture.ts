import { backendName, clusterId, DEFAULT_CAPACITY, type BackendPort, type ClusterSelector, type Endpoint, type FleetView, type MemberBackend, type MemberPart, type MemberReach, type MemberState, type SamenessPolicy } from '#domain/fleet';

/** The backend that most tests talk about. */
export const MODEL_BACKEND = backendName('ai', 'model');

/** Selects every cluster. */
export const EVERY_CLUSTER: ClusterSelector = { all: true, names: [], matchLabels: {} };

/** Selects clusters by name. */
export const clustersNamed = (...names: string[]): ClusterSelector => ({ all: false, names, matchLabels: {} });

/** A policy that lets everyone share namespace `ai`, but for what is overridden. */
export const aPolicy = (over: Partial<SamenessPolicy> = {}): SamenessPolicy => ({ name: 'shared-ai', namespaces: ['ai'], mayExport: EVERY_CLUSTER, mayImport: EVERY_CLUSTER, owner: 'platform', ...over });

/** A fresh member on network `flat`, but for what is overridden. */
export function aMember(id: string, over: Partial<Omit<MemberState, 'cluster'>> & Partial<MemberState['cluster']> = {}): MemberState {
  const { freshness = 'fresh', firstListComplete = true, reach, ...cluster } = over;
  return { freshness, firstListComplete, reach, cluster: { id: clusterId(id), uid: `uid-${id}`, labels: {}, locality: { region: id, zone: `${id}-a` }, network: 'flat', ...cluster } };
}

/** How a member is reached that has one gateway and one node. */
export const aReach = (over: Partial<MemberReach> = {}): MemberReach => ({ gateways: ['192.0.2.1'], egress: ['192.0.2.1'], probes: ['192.0.2.1'], probePort: 9091, ...over });

/** So many ready endpoints of one cluster, each on target port 8080. */
export function readyEndpoints(ready: number, over: Partial<Endpoint> = {}): Endpoint[] {
  return Array.from({ length: ready }, (_, index) => ({ address: `10.1.0.${index + 1}`, targetPorts: [8080], ready: true, serving: true, terminating: false, zone: 'a', node: 'n1', ...over }));
}

/** An endpoint that ends but still answers. */
export const terminatingEndpoint = (over: Partial<Endpoint> = {}): Endpoint => ({ address: '10.1.9.9', targetPorts: [8080], ready: false, serving: true, terminating: true, zone: 'a', node: 'n1', ...over });

/** Port 80 over TCP. */
export const HTTP_PORT: BackendPort = { port: 80, protocol: 'TCP' };

/** A part of {@link MODEL_BACKEND} with ready endpoints on port 80, and the gateway port that leads to its first port. */
export function aPart(id: string, firstSeen: number, ready: number, { gatewayPort, ...over }: Partial<MemberBackend> & { readonly gatewayPort?: number } = {}): MemberPart {
  const backend: MemberBackend = { name: MODEL_BACKEND, trafficClass: 'endpoints', sessionAffinity: 'None', ports: [HTTP_PORT], endpoints: readyEndpoints(ready), capacity: DEFAULT_CAPACITY, ...over };
  return { clusterId: clusterId(id), firstSeenSequence: BigInt(firstSeen), backend, gatewayPorts: gatewayPort === undefined ? [] : backend.ports.slice(0, 1).map((port) => ({ port, gatewayPort })) };
}

/** A fleet in which everyone shares namespace `ai`, but for what is overridden. */
export function aFleetView(members: readonly MemberState[], parts: readonly MemberPart[], over: Partial<FleetView> = {}): FleetView {
  const byName = Map.groupBy(parts, ({ backend }) => backend.name);
  return { members: new Map(members.map((state) => [state.cluster.id, state])), parts: byName, policies: [aPolicy()], freeze: undefined, ...over };
}
