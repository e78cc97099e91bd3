import { byKey, splitBackendName, type BackendName, type ClusterId, type FleetView, type GatewayCaller, type GatewayOpening, type MemberPart, type MemberPaths, type MemberState, type PathPeer, type SamenessPolicy } from '#domain/fleet';

import { coveringPolicies, isSame } from './judge-sameness.js';
import { planPath } from './plan-path.js';

/** Addresses to which path probes to one peer go in turn. */
const PROBE_ADDRESSES_MAX = 3;

/**
 * What one member must know of the ways to and from others: which ports its gateway nodes open for whom, and whom to probe.
 * Who may call is who may import; a member that has been silent may still call, since it need not hear the hub for that.
 */
export function planPaths(view: FleetView, member: ClusterId): MemberPaths {
  const self = view.members.get(member);
  if (self === undefined) return { intake: { openings: [], callers: [] }, peers: [] };
  const coveringOf = coveringFinder(view.policies);
  const openings = ownOpenings(view, self, coveringOf);
  const named = new Set(openings.flatMap(({ callers }) => callers));
  const callers = [...named].sort().map((id): GatewayCaller => ({ clusterId: id, addresses: view.members.get(id)?.reach?.egress ?? [] }));
  return { intake: { openings, callers }, peers: planPeers(view, self, coveringOf) };
}

type CoveringFinder = (name: BackendName) => readonly SamenessPolicy[];

// Backends are many, namespaces few.
function coveringFinder(policies: readonly SamenessPolicy[]): CoveringFinder {
  const known = new Map<string, readonly SamenessPolicy[]>();
  return (name) => {
    const { namespace } = splitBackendName(name);
    const covering = known.get(namespace) ?? coveringPolicies(policies, namespace);
    known.set(namespace, covering);
    return covering;
  };
}

function ownOpenings(view: FleetView, self: MemberState, coveringOf: CoveringFinder): readonly GatewayOpening[] {
  const strangers = [...view.members.values()].filter((other) => isCaller(other, self)).sort(byKey(({ cluster }) => cluster.id));
  if (strangers.length === 0) return [];
  const openings = [...view.parts].flatMap(([name, parts]) => {
    const own = parts.find(({ clusterId }) => clusterId === self.cluster.id);
    return own === undefined || own.gatewayPorts.length === 0 ? [] : openingsOf(name, own, importersOf(strangers, self, coveringOf(name)));
  });
  return openings.sort((a, b) => a.gatewayPort - b.gatewayPort);
}

function isCaller(other: MemberState, self: MemberState): boolean {
  const { path, refusal } = planPath(other, self);
  return path === 'gateway' && refusal === undefined;
}

const importersOf = (others: readonly MemberState[], self: MemberState, covering: readonly SamenessPolicy[]): readonly ClusterId[] =>
  others.filter(({ cluster }) => isSame(covering, self.cluster, cluster)).map(({ cluster }) => cluster.id);

const openingsOf = (backend: BackendName, { gatewayPorts }: MemberPart, callers: readonly ClusterId[]): readonly GatewayOpening[] =>
  callers.length === 0 ? [] : gatewayPorts.map(({ gatewayPort, port }) => ({ gatewayPort, backend, port, callers }));

function planPeers(view: FleetView, self: MemberState, coveringOf: CoveringFinder): readonly PathPeer[] {
  const providers = new Set<ClusterId>();
  for (const [name, parts] of view.parts) {
    for (const { clusterId } of parts) {
      const other = providers.has(clusterId) ? undefined : view.members.get(clusterId);
      if (other !== undefined && clusterId !== self.cluster.id && isSame(coveringOf(name), other.cluster, self.cluster)) providers.add(clusterId);
    }
  }
  return [...providers].sort().flatMap((id) => peerOf(self, view.members.get(id)) ?? []);
}

function peerOf(self: MemberState, other: MemberState | undefined): PathPeer | undefined {
  if (other?.reach === undefined) return undefined;
  const { path, refusal } = planPath(self, other);
  const addresses = (path === 'direct' ? other.reach.probes : other.reach.gateways).slice(0, PROBE_ADDRESSES_MAX);
  if (refusal !== undefined || addresses.length === 0 || other.reach.probePort === 0) return undefined;
  return { clusterId: other.cluster.id, path, addresses, port: other.reach.probePort };
}
