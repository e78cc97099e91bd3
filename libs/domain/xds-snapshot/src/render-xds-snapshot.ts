import { byKey, differingItems, digest, isSameData, isSameItems } from '#domain/fleet';
import { frontendKey, type Frontend, type FrontendListener, type GatewayPort, type PlannedBackend, type PlannedEndpoint, type PlannedProvider, type RoutingPlan } from '#domain/routing-plan';

import { rejectClusterName, type XdsCluster, type XdsClusterMetadata, type XdsEndpoint, type XdsFrontend, type XdsGatewayPort, type XdsHealth, type XdsListenerUse, type XdsLoadAssignment, type XdsLocality, type XdsResource, type XdsSnapshot } from './xds-resources.js';

/** A plan together with what it was rendered to. */
export interface RenderedPlan {
  readonly plan: RoutingPlan;
  readonly snapshot: XdsSnapshot;
}

/**
 * Renders a valid plan. The result depends on `plan` alone; `previous` only saves work: what did not change keeps its
 * object, and only what changed is rendered and hashed.
 */
export function renderXdsSnapshot(plan: RoutingPlan, previous?: RenderedPlan): XdsSnapshot {
  return { clusters: renderClusters(plan, previous), loadAssignments: renderLoadAssignments(plan.backends, previous) };
}

function renderLoadAssignments(backends: readonly PlannedBackend[], previous: RenderedPlan | undefined): readonly XdsLoadAssignment[] {
  if (previous === undefined) return sortedByName(backends.map(renderLoadAssignment));
  const { gone, come } = differingItems(previous.plan.backends, backends);
  const fresh = come.map((backend) => [backend.id, renderLoadAssignment(backend)] as const);
  return patchByName(previous.snapshot.loadAssignments, new Map([...gone.map(({ id }) => [id, undefined] as const), ...fresh]));
}

/** A list sorted by name with some of its resources replaced, added or (undefined) taken away; the same list where nothing differs. */
function patchByName<T extends XdsResource>(before: readonly T[], patches: ReadonlyMap<string, T | undefined>): readonly T[] {
  if (patches.size === 0) return before;
  const left = new Map(patches);
  const kept: T[] = [];
  for (const old of before) {
    const fresh = left.has(old.name) ? left.get(old.name) : old;
    left.delete(old.name);
    if (fresh !== undefined) kept.push(fresh.version === old.version ? old : fresh);
  }
  const added = [...left.values()].flatMap((resource) => resource ?? []);
  if (added.length > 0) return sortedByName([...kept, ...added]);
  return isSameItems(before, kept) ? before : kept;
}

const sortedByName = <T extends XdsResource>(resources: readonly T[]): readonly T[] => [...resources].sort(byKey((resource) => resource.name));

function renderLoadAssignment(backend: PlannedBackend): XdsLoadAssignment {
  const localities = backend.providers.map((provider) => renderLocality(provider, backend.protocol)).sort(byKey((locality) => locality.subZone));
  return versioned({ name: backend.id, localities });
}

function renderLocality(provider: PlannedProvider, protocol: 'TCP' | 'UDP'): XdsLocality {
  return {
    region: provider.locality.region,
    zone: provider.locality.zone,
    subZone: provider.clusterId,
    priority: 0,
    weight: provider.shareBp >= 1 ? provider.shareBp : undefined,
    path: provider.path,
    endpoints: provider.endpoints.map((endpoint) => renderEndpoint(endpoint, protocol)),
  };
}

const HEALTH_OF_STATE: Readonly<Record<PlannedEndpoint['state'], XdsHealth>> = { ready: 'HEALTHY', 'serving-terminating': 'DRAINING', 'not-ready': 'UNHEALTHY' };

const renderEndpoint = (endpoint: PlannedEndpoint, protocol: 'TCP' | 'UDP'): XdsEndpoint => ({
  address: endpoint.address,
  port: endpoint.port,
  protocol,
  health: HEALTH_OF_STATE[endpoint.state],
  zone: endpoint.zone,
  node: endpoint.node,
  hostname: endpoint.hostname,
});

function renderClusters(plan: RoutingPlan, previous: RenderedPlan | undefined): readonly XdsCluster[] {
  if (previous === undefined) return sortedByName([...renderBackendClusters(plan, () => true), ...plan.frontends.flatMap(renderRejectCluster)]);
  const frontends = differingItems(previous.plan.frontends, plan.frontends);
  const touched = touchedClusters(previous.plan, plan, [...frontends.gone, ...frontends.come]);
  if (touched.size === 0) return previous.snapshot.clusters;
  const fresh = [...renderBackendClusters(plan, (name) => touched.has(name)), ...frontends.come.flatMap(renderRejectCluster)];
  return patchByName(previous.snapshot.clusters, new Map([...[...touched].map((name) => [name, undefined] as const), ...fresh.map((cluster) => [cluster.name, cluster] as const)]));
}

function renderBackendClusters({ frontends, backends, gatewayPorts }: RoutingPlan, isWanted: (name: string) => boolean): readonly XdsCluster[] {
  const wanted = backends.filter(({ id }) => isWanted(id));
  const uses = usesByCluster(frontends, isWanted);
  return wanted.map((backend) => versioned({ name: backend.id, edsServiceName: backend.id, metadata: backendMetadata(backend, uses, gatewayPorts) }));
}

/** Names of the clusters that may differ between two plans. Endpoints, shares and paths are no part of a cluster. */
function touchedClusters(before: RoutingPlan, after: RoutingPlan, frontends: readonly Frontend[]): ReadonlySet<string> {
  const backends = differingItems(before.backends, after.backends);
  const gatewayPorts = differingItems(before.gatewayPorts, after.gatewayPorts);
  const old = new Map(backends.gone.map((backend) => [backend.id, backend]));
  const come = backends.come.filter((backend) => !isSameCluster(old.get(backend.id), backend)).map(({ id }) => id);
  const stay = new Set(backends.come.map(({ id }) => id));
  return new Set<string>([
    ...frontends.flatMap((frontend) => [rejectName(frontend), ...frontend.listeners.flatMap(({ uses }) => uses.map(({ backend }) => backend))]),
    ...backends.gone.map(({ id }) => id).filter((id) => !stay.has(id)),
    ...come,
    ...[...gatewayPorts.gone, ...gatewayPorts.come].map(({ backend }) => backend),
  ]);
}

const isSameCluster = (one: PlannedBackend | undefined, other: PlannedBackend): boolean =>
  one !== undefined && one.protocol === other.protocol && one.trafficDistribution === other.trafficDistribution && isSameData(one.affinity, other.affinity);

function renderRejectCluster(frontend: Frontend): readonly XdsCluster[] {
  const listeners = frontend.listeners.filter(leadsPartlyNowhere);
  if (listeners.length === 0 && frontend.listeners.length > 0) return [];
  const metadata = { ...NO_BACKEND, frontends: [frontendUse(frontend, listeners.map((listener) => listenerUse(listener, listener.rejectWeight)))] };
  return [versioned({ name: rejectName(frontend), edsServiceName: undefined, metadata })];
}

const rejectName = (frontend: Frontend): string => rejectClusterName(frontendKey(frontend));

const NO_BACKEND = { protocol: undefined, affinity: undefined, trafficDistribution: 'None', gatewayPorts: [] } as const;

const backendMetadata = ({ id, protocol, affinity, trafficDistribution }: PlannedBackend, uses: ReadonlyMap<string, readonly XdsFrontend[]>, ports: readonly GatewayPort[]): XdsClusterMetadata => ({
  protocol,
  affinity,
  trafficDistribution,
  frontends: uses.get(id) ?? [],
  gatewayPorts: ports.filter(({ backend }) => backend === id).map(({ port, protocol: spoken, nodes, sources }): XdsGatewayPort => ({ port, protocol: spoken, nodes, sources })),
});

const leadsPartlyNowhere = (listener: FrontendListener): boolean => listener.rejectWeight > 0 || listener.uses.length === 0;

/** Frontends by the name of each wanted cluster that they lead to, sorted by their keys. */
function usesByCluster(frontends: readonly Frontend[], isWanted: (cluster: string) => boolean): ReadonlyMap<string, readonly XdsFrontend[]> {
  const byCluster = new Map<string, XdsFrontend[]>();
  const leading = frontends.filter(({ listeners }) => listeners.some(({ uses }) => uses.some(({ backend }) => isWanted(backend))));
  for (const frontend of leading.sort(byKey(frontendKey))) {
    for (const [cluster, listeners] of listenersByCluster(frontend.listeners)) {
      const uses = byCluster.get(cluster) ?? [];
      uses.push(frontendUse(frontend, listeners));
      byCluster.set(cluster, uses);
    }
  }
  return byCluster;
}

function listenersByCluster(listeners: readonly FrontendListener[]): ReadonlyMap<string, readonly XdsListenerUse[]> {
  const byCluster = new Map<string, XdsListenerUse[]>();
  for (const listener of listeners) {
    for (const { backend, weight } of listener.uses) {
      const uses = byCluster.get(backend) ?? [];
      uses.push(listenerUse(listener, weight));
      byCluster.set(backend, uses);
    }
  }
  return byCluster;
}

const frontendUse = (frontend: Frontend, listeners: readonly XdsListenerUse[]): XdsFrontend => ({
  kind: frontend.kind,
  namespace: frontend.namespace,
  name: frontend.name,
  callers: frontend.callers,
  isHeadless: frontend.isHeadless,
  addresses: frontend.addresses,
  dnsNames: frontend.dnsNames,
  listeners: [...listeners].sort(byKey((listener) => listener.name)),
});

const listenerUse = (listener: FrontendListener, weight: number): XdsListenerUse => ({ name: listener.name, port: listener.port, protocol: listener.protocol, weight });

const versioned = <T extends object>(content: T): T & { readonly version: string } => ({ ...content, version: digest(JSON.stringify(content)) });
