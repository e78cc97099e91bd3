import type { MemberBackend, MemberCluster } from './backend.js';
import type { BackendName, ClusterId } from './ids.js';
import type { GatewayPortAssignment, MemberReach } from './reach.js';

/**
 * What the hub knows of the whole fleet, as one plain value. Hub replicas hold equal views, since each is the fold of the
 * same change log; judgements that depend on time are entries of that log, never a replica's own opinion.
 */
export interface FleetView {
  readonly members: ReadonlyMap<ClusterId, MemberState>;
  /** Every member's part of every backend, sorted by cluster id. */
  readonly parts: ReadonlyMap<BackendName, readonly MemberPart[]>;
  readonly policies: readonly SamenessPolicy[];
  readonly freeze: Freeze | undefined;
}

/** How long a member has been silent, judged by the lease holder: `fresh`, or `stale` after staleAfter (its endpoints go). */
export type Freshness = 'joining' | 'fresh' | 'stale';

/** A member and what is judged of it. */
export interface MemberState {
  readonly cluster: MemberCluster;
  readonly freshness: Freshness;
  /** Whether its spoke has told everything at least once since it enrolled. */
  readonly firstListComplete: boolean;
  /** Undefined until its spoke has told it: one of an older version never does. */
  readonly reach: MemberReach | undefined;
}

/** One member's part of a backend. */
export interface MemberPart {
  readonly clusterId: ClusterId;
  readonly backend: MemberBackend;
  /** Place in the order in which the hub first saw definitions (see firstSeenPlace): the lowest wins a conflict. */
  readonly firstSeenSequence: bigint;
  /** Ports of its gateway nodes that lead to the backend's ports; empty while it has no gateways. Sorted by gateway port. */
  readonly gatewayPorts: readonly GatewayPortAssignment[];
}

/** Automation is stopped: shares stay as they were; endpoints that are gone still go. */
export interface Freeze {
  readonly reason: string;
  readonly sinceMs: number;
  /** Capacity by which shares were split when the freeze began. */
  readonly capacities: ReadonlyMap<BackendName, ReadonlyMap<ClusterId, number>>;
}

/** Selects clusters by name or by labels; both empty selects none. */
export interface ClusterSelector {
  readonly names: readonly string[];
  readonly matchLabels: Readonly<Record<string, string>>;
  /** Selects every cluster. */
  readonly all: boolean;
}

/** In which clusters namespaces of these names mean the same thing. Nothing is the same until a policy says so. */
export interface SamenessPolicy {
  readonly name: string;
  /** Namespace names, or prefixes that end in `*`. */
  readonly namespaces: readonly string[];
  readonly mayExport: ClusterSelector;
  readonly mayImport: ClusterSelector;
  readonly owner: string;
}
