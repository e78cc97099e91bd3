import { byKey, digest, isSameData } from '#domain/fleet';
import { frontendKey, type Frontend, type FrontendListener, type GatewayPort, type PlannedBackend, type PlannedEndpoint, type PlannedProvider, type RoutingPlan } from '#domain/routing-plan';

import { rejectClusterName, type XdsCluster, type XdsClusterMetadata, type XdsEndpoint, type XdsFrontend, type XdsGatewayPort, type XdsHealth, type XdsListenerUse, type XdsLoadAssignment, type XdsLocality, type XdsSnapshot } from './xds-resources.js';

/** A plan together with what it was rendered to. */
export interface RenderedPlan {
  readonly plan: RoutingPlan;
  readonly snapshot: XdsSnapshot;
}

/**
 * Renders a valid plan. The result depends on `plan` alone; `previous` only saves work: what did not change keeps its
 * object, so that a change of one backend's endpoints or shares costs one comparison per other backend.
 */
export function renderXdsSnapshot(plan: RoutingPlan, previous?: RenderedPlan): XdsSnapshot {
  return { clusters: renderClusters(plan, previous), loadAssignments: renderLoadAssignments(plan, previous) };
}

function renderLoadAssignments(plan: RoutingPlan, previous: RenderedPlan | undefined): readonly XdsLoadAssignment[] {
  const oldBackends = new Map(previous?.plan.backends.map((backend) => [backend.id, backend]));
  const oldAssignments = new Map(previous?.snapshot.loadAssignments.map((assignment) => [assignment.name, assignment]));
  const render = (backend: PlannedBackend): XdsLoadAssignment => {
    const old = oldAssignments.get(backend.id);
    return old !== undefined && isSameData(oldBackends.get(backend.id), backend) ? old : renderLoadAssignment(backend);
  };
  return plan.backends.map(render).sort(byKey((assignment) => assignment.name));
}

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
  if (previous !== undefined && isSameData(clusterInputs(previous.plan), clusterInputs(plan))) return previous.snapshot.clusters;
  const old = new Map(previous?.snapshot.clusters.map((cluster) => [cluster.name, cluster]));
  const uses = usesByCluster(plan.frontends);
  const backendClusters = plan.backends.map((backend) =>
    versioned({ name: backend.id, edsServiceName: backend.id, metadata: backendMetadata(backend, uses, plan.gatewayPorts) }),
  );
  const rejectClusters = plan.frontends.flatMap((frontend) => {
    const listeners = frontend.listeners.filter(leadsPartlyNowhere);
    if (listeners.length === 0 && frontend.listeners.length > 0) return [];
    const metadata = { ...NO_BACKEND, frontends: [frontendUse(frontend, listeners.map((listener) => listenerUse(listener, listener.rejectWeight)))] };
    return [versioned({ name: rejectClusterName(frontendKey(frontend)), edsServiceName: undefined, metadata })];
  });
  return [...backendClusters, ...rejectClusters].map((cluster) => keepEqual(old.get(cluster.name), cluster)).sort(byKey((cluster) => cluster.name));
}

/** All that clusters are made of: never an endpoint, a share or a path. */
const clusterInputs = (plan: RoutingPlan): unknown => [
  plan.frontends,
  plan.gatewayPorts,
  plan.backends.map(({ id, protocol, affinity, trafficDistribution }) => ({ id, protocol, affinity, trafficDistribution })),
];

const NO_BACKEND = { protocol: undefined, affinity: undefined, trafficDistribution: 'None', gatewayPorts: [] } as const;

const backendMetadata = ({ id, protocol, affinity, trafficDistribution }: PlannedBackend, uses: ReadonlyMap<string, readonly XdsFrontend[]>, ports: readonly GatewayPort[]): XdsClusterMetadata => ({
  protocol,
  affinity,
  trafficDistribution,
  frontends: uses.get(id) ?? [],
  gatewayPorts: ports.filter(({ backend }) => backend === id).map(({ port, protocol: spoken, nodes, sources }): XdsGatewayPort => ({ port, protocol: spoken, nodes, sources })),
});

const keepEqual = <T extends { readonly version: string }>(old: T | undefined, fresh: T): T => (old?.version === fresh.version ? old : fresh);

const leadsPartlyNowhere = (listener: FrontendListener): boolean => listener.rejectWeight > 0 || listener.uses.length === 0;

/** Frontends by the name of each cluster they lead to, sorted by their keys. */
function usesByCluster(frontends: readonly Frontend[]): ReadonlyMap<string, readonly XdsFrontend[]> {
  const byCluster = new Map<string, XdsFrontend[]>();
  for (const frontend of [...frontends].sort(byKey(frontendKey))) {
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
