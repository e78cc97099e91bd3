import {
  byKey,
  countReady,
  splitBackendName,
  type BackendName,
  type BackendPort,
  type ClusterId,
  type Endpoint,
  type FleetView,
  type ImportedBackend,
  type ImportedPort,
  type ImportedProvider,
  type ImportSet,
  type MemberCluster,
  type MemberPart,
  type MemberState,
  type Path,
} from '#domain/fleet';

import { gatewayEndpoints, gatewayPortOf } from './gateway-endpoints.js';
import { coveringPolicies, isSame, judgeSameness } from './judge-sameness.js';
import { mergeParts, type MergedPort } from './merge-parts.js';
import { planPath, type PlannedPath } from './plan-path.js';
import { hasReadyEndpoint, readyCapacity } from './ready-capacities.js';
import { splitShares } from './split-shares.js';

/** Everything that a consumer cluster must know of the rest of the fleet, sorted by backend name. */
export function planFleet(view: FleetView, consumer: ClusterId): ImportSet {
  const backends = [...view.parts.keys()].flatMap((name) => planBackend(view, consumer, name) ?? []);
  return { backends: backends.sort(byKey(({ name }) => name)) };
}

/**
 * What a consumer cluster sees of one backend; undefined where it neither defines a part nor may import one. A cluster is
 * always the same as itself: its own part needs no policy, and is never stale to itself.
 */
export function planBackend(view: FleetView, consumer: ClusterId, name: BackendName): ImportedBackend | undefined {
  const self = view.members.get(consumer);
  if (self === undefined) return undefined;
  const parts = partsInSight(view, self, name);
  const merged = mergeParts(parts.map(({ part }) => part));
  if (merged === undefined) return undefined;
  const reached = parts.map((seen): ReachedPart => ({ ...seen, ...reachPart(self, seen) }));
  const usable = new Map(reached.filter(({ refusal, isAlive }) => refusal === undefined && isAlive).map((seen) => [seen.part.clusterId, seen]));
  const byCluster = new Map(reached.map((seen) => [seen.part.clusterId, seen]));
  return {
    name,
    trafficClass: merged.trafficClass,
    sessionAffinity: merged.sessionAffinity,
    providers: merged.parts.flatMap((part) => {
      const seen = byCluster.get(part.clusterId);
      return seen !== undefined && usable.has(part.clusterId) ? [toProvider(seen, consumer)] : [];
    }),
    ports: merged.ports.map((port) => planPort(view, name, port, usable)),
    conflicts: merged.conflicts,
    refusals: [...ownRefusals(view, self.cluster, name, byCluster.has(consumer)), ...reached.flatMap(({ refusal }) => refusal ?? [])],
    memberCount: parts.length,
    servingCount: parts.filter(({ isAlive, part }) => isAlive && countReady(part.backend.endpoints) > 0).length,
  };
}

interface SeenPart {
  readonly part: MemberPart;
  readonly member: MemberState;
  /** Whether its endpoints count: those of a stale member do not. */
  readonly isAlive: boolean;
}

type ReachedPart = SeenPart & PlannedPath;

/** The path to a part. Through a gateway it needs a gateway port. */
function reachPart(self: MemberState, { part, member }: SeenPart): PlannedPath {
  const planned = planPath(self, member);
  if (planned.path === 'direct' || planned.refusal !== undefined || part.gatewayPorts.length > 0 || part.backend.ports.length === 0) return planned;
  return { ...planned, refusal: `Every gateway port of cluster "${part.clusterId}" is taken, so none leads to its part; its endpoints are left out. Widen SPILLWAY_GATEWAY_PORT_RANGE of the hub.` };
}

// Sorted by cluster id: the consumer's own part, and those that a policy makes the same as it.
function partsInSight(view: FleetView, self: MemberState, name: BackendName): readonly SeenPart[] {
  const covering = coveringPolicies(view.policies, splitBackendName(name).namespace);
  const seen = (view.parts.get(name) ?? []).flatMap((part) => {
    const member = view.members.get(part.clusterId);
    if (member === undefined) return [];
    const isOwn = part.clusterId === self.cluster.id;
    if (!isOwn && !isSame(covering, member.cluster, self.cluster)) return [];
    return [{ part, member, isAlive: isOwn || member.freshness !== 'stale' }];
  });
  return seen.sort(byKey(({ part }) => part.clusterId));
}

function toProvider({ part, member, path }: ReachedPart, consumer: ClusterId): ImportedProvider {
  return {
    clusterId: part.clusterId,
    locality: member.cluster.locality,
    path,
    endpoints: part.clusterId === consumer ? [] : toldEndpoints(part, member, path),
    ports: part.backend.ports,
    readyAssumed: countReady(part.backend.endpoints),
  };
}

// Pods of another network are never told of: their addresses mean other pods at the consumer, or none.
function toldEndpoints(part: MemberPart, { reach }: MemberState, path: Path): readonly Endpoint[] {
  if (path === 'direct') return part.backend.endpoints;
  return reach === undefined ? [] : gatewayEndpoints(part, reach);
}

function planPort(view: FleetView, name: BackendName, { port, parts }: MergedPort, usable: ReadonlyMap<ClusterId, ReachedPart>): ImportedPort {
  const serving = parts.filter(({ clusterId, backend }) => leadsTo(usable.get(clusterId), port) && hasReadyEndpoint(backend.endpoints, indexOfPort(backend.ports, port)));
  const current = serving.map(({ clusterId, backend }) => ({ clusterId, capacity: readyCapacity(backend) }));
  const frozen = view.freeze?.capacities.get(name);
  if (frozen === undefined) return { port, shares: splitShares(current) };
  const held = splitShares(serving.map(({ clusterId }) => ({ clusterId, capacity: frozen.get(clusterId) ?? 0 })));
  // A freeze stops moves, it does not turn calls away while somebody is ready to answer them.
  return { port, shares: held.length > 0 ? held : splitShares(current) };
}

const leadsTo = (seen: ReachedPart | undefined, port: BackendPort): boolean => seen !== undefined && (seen.path === 'direct' || gatewayPortOf(seen.part.gatewayPorts, port) > 0);

const indexOfPort = (ports: readonly BackendPort[], want: BackendPort): number => ports.findIndex(({ port, protocol }) => port === want.port && protocol === want.protocol);

function ownRefusals(view: FleetView, self: MemberCluster, name: BackendName, definesPart: boolean): readonly string[] {
  return definesPart ? judgeSameness(view.policies, splitBackendName(name).namespace, self).refusals : [];
}
