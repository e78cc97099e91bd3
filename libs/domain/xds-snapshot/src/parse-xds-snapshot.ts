import { byKey, clusterId } from '#domain/fleet';
import { frontendKey, gatewayPortKey, type Frontend, type FrontendListener, type GatewayPort, type PlannedBackend, type PlannedBackendId, type PlannedEndpoint, type PlannedProvider, type RoutingPlan } from '#domain/routing-plan';

import type { RenderedPlan } from './render-xds-snapshot.js';
import type { XdsCluster, XdsClusterMetadata, XdsEndpoint, XdsFrontend, XdsHealth, XdsListenerUse, XdsLoadAssignment, XdsLocality, XdsSnapshot } from './xds-resources.js';

/**
 * The plan that a snapshot was rendered from: for every valid plan, `parseXdsSnapshot(renderXdsSnapshot(plan))` equals
 * `plan`. Give it snapshots that have no {@link snapshotProblems}. `previous` only saves work and keeps the objects of
 * what did not change, where the unchanged resources are the same objects too.
 */
export function parseXdsSnapshot(snapshot: XdsSnapshot, previous?: RenderedPlan): RoutingPlan {
  const isSameClusters = previous !== undefined && hasSameItems(previous.snapshot.clusters, snapshot.clusters);
  return {
    frontends: isSameClusters ? previous.plan.frontends : parseFrontends(snapshot.clusters),
    backends: parseBackends(snapshot, previous),
    gatewayPorts: isSameClusters ? previous.plan.gatewayPorts : parseGatewayPorts(snapshot.clusters),
  };
}

/** The frontends alone, for readers that take no load assignments, such as DNS. */
export function parseFrontends(clusters: readonly XdsCluster[]): readonly Frontend[] {
  const drafts = new Map<string, FrontendDraft>();
  for (const cluster of clusters) {
    for (const frontend of cluster.metadata.frontends) addUse(drafts, frontend, cluster);
  }
  return [...drafts.values()].map(finishFrontend).sort(byKey(frontendKey));
}

interface FrontendDraft {
  readonly frontend: XdsFrontend;
  readonly listeners: Map<string, ListenerDraft>;
}

interface ListenerDraft {
  readonly listener: XdsListenerUse;
  readonly uses: { readonly backend: PlannedBackendId; readonly weight: number }[];
  rejectWeight: number;
}

function addUse(drafts: Map<string, FrontendDraft>, frontend: XdsFrontend, cluster: XdsCluster): void {
  const key = frontendKey(frontend);
  const draft = drafts.get(key) ?? { frontend, listeners: new Map<string, ListenerDraft>() };
  drafts.set(key, draft);
  for (const use of frontend.listeners) {
    const listener = draft.listeners.get(use.name) ?? { listener: use, uses: [], rejectWeight: 0 };
    draft.listeners.set(use.name, listener);
    if (cluster.edsServiceName === undefined) listener.rejectWeight = use.weight;
    else listener.uses.push({ backend: cluster.name as PlannedBackendId, weight: use.weight });
  }
}

const finishFrontend = ({ frontend, listeners }: FrontendDraft): Frontend => ({
  kind: frontend.kind,
  namespace: frontend.namespace,
  name: frontend.name,
  callers: frontend.callers,
  isHeadless: frontend.isHeadless,
  addresses: frontend.addresses,
  dnsNames: frontend.dnsNames,
  listeners: [...listeners.values()].map(finishListener).sort(byKey((listener) => listener.name)),
});

const finishListener = ({ listener, uses, rejectWeight }: ListenerDraft): FrontendListener => ({
  name: listener.name,
  port: listener.port,
  protocol: listener.protocol,
  uses: uses.sort(byKey((use) => use.backend)),
  rejectWeight,
});

function parseBackends(snapshot: XdsSnapshot, previous: RenderedPlan | undefined): readonly PlannedBackend[] {
  const assignments = new Map(snapshot.loadAssignments.map((assignment) => [assignment.name, assignment]));
  const oldClusters = new Map(previous?.snapshot.clusters.map((cluster) => [cluster.name, cluster]));
  const oldAssignments = new Map(previous?.snapshot.loadAssignments.map((assignment) => [assignment.name, assignment]));
  const oldBackends = new Map<string, PlannedBackend>(previous?.plan.backends.map((backend) => [backend.id, backend]));
  return snapshot.clusters
    .flatMap((cluster) => {
      if (cluster.edsServiceName === undefined || cluster.metadata.protocol === undefined) return [];
      const assignment = assignments.get(cluster.edsServiceName);
      const old = oldBackends.get(cluster.name);
      if (old === undefined) return [parseBackend(cluster.name, cluster.metadata, assignment)];
      const isUnchanged = oldClusters.get(cluster.name) === cluster && oldAssignments.get(cluster.edsServiceName) === assignment;
      return [isUnchanged ? old : parseBackend(cluster.name, cluster.metadata, assignment)];
    })
    .sort(byKey((backend) => backend.id));
}

const parseBackend = (name: string, { protocol, affinity, trafficDistribution }: XdsClusterMetadata, assignment: XdsLoadAssignment | undefined): PlannedBackend => ({
  id: name as PlannedBackendId,
  protocol: protocol ?? 'TCP',
  affinity,
  trafficDistribution,
  providers: (assignment?.localities ?? []).map(parseProvider).sort(byKey((provider) => provider.clusterId)),
});

const parseProvider = (locality: XdsLocality): PlannedProvider => ({
  clusterId: clusterId(locality.subZone),
  locality: { region: locality.region, zone: locality.zone },
  path: locality.path,
  shareBp: locality.weight ?? 0,
  endpoints: locality.endpoints.map(parseEndpoint),
});

const STATE_OF_HEALTH: Readonly<Record<XdsHealth, PlannedEndpoint['state']>> = { HEALTHY: 'ready', DRAINING: 'serving-terminating', UNHEALTHY: 'not-ready' };

const parseEndpoint = ({ address, port, health, zone, node, hostname }: XdsEndpoint): PlannedEndpoint => ({ address, port, state: STATE_OF_HEALTH[health], zone, node, hostname });

const parseGatewayPorts = (clusters: readonly XdsCluster[]): readonly GatewayPort[] =>
  clusters
    .flatMap(({ name, metadata }) => metadata.gatewayPorts.map((port): GatewayPort => ({ ...port, backend: name as PlannedBackendId })))
    .sort(byKey(gatewayPortKey));

const hasSameItems = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && a.every((item, index) => item === b[index]);
