import type { BackendName, ClusterId } from './ids.js';

/** Where endpoints run. `region` and `zone` may be empty where unknown. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
}

/** A transport protocol that a backend port speaks. */
export type Protocol = 'TCP' | 'UDP';

/** What kind of backend a member brings; parts of one backend must agree (design decision, ADR 0007). */
export type TrafficClass = 'endpoints' | 'inference-pool' | 'external';

/** The unit in which capacity is declared: per second for `Requests` and `Tokens`, at once for `Concurrent`. */
export type WorkUnit = 'Requests' | 'Concurrent' | 'Tokens';

/** Stickiness of a client's connections. */
export type SessionAffinity = 'None' | 'ClientIP' | 'Cluster';

/** A port that routes name: this cluster's own mapping leads it to each endpoint's target port. */
export interface BackendPort {
  readonly port: number;
  readonly protocol: Protocol;
}

/** One address that answers for a backend, with the EndpointSlice conditions kept apart (C62). */
export interface Endpoint {
  readonly address: string;
  /** Target port for each of the member backend's ports, in their order; 0 where this endpoint lacks the port. */
  readonly targetPorts: readonly number[];
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zone: string;
  readonly node: string;
}

/**
 * How many of these take new connections. A pod with an address of each family answers at both, and is counted once: the
 * family with more ready addresses counts.
 */
export function countReady(endpoints: readonly Endpoint[]): number {
  let ipv4 = 0;
  let ipv6 = 0;
  for (const { address, ready, terminating } of endpoints) {
    if (!ready || terminating) continue;
    if (address.includes(':')) ipv6 += 1;
    else ipv4 += 1;
  }
  return Math.max(ipv4, ipv6);
}

/** What one ready endpoint takes, in one work unit. */
export interface DeclaredCapacity {
  readonly unit: WorkUnit;
  readonly perEndpoint: number;
}

/** One cluster's part of a fleet backend, as its spoke reports it. */
export interface MemberBackend {
  readonly name: BackendName;
  readonly trafficClass: TrafficClass;
  readonly sessionAffinity: SessionAffinity;
  readonly ports: readonly BackendPort[];
  /** Sorted by address. */
  readonly endpoints: readonly Endpoint[];
  readonly capacity: DeclaredCapacity;
}

/** The capacity that counts where none is declared: every endpoint the same. */
export const DEFAULT_CAPACITY: DeclaredCapacity = { unit: 'Requests', perEndpoint: 1 };

/** A registered cluster, as plans see it. */
export interface MemberCluster {
  readonly id: ClusterId;
  /** UID of the kube-system namespace; empty until enrolment. */
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: Locality;
  /** Members of one network reach each other's pods directly. */
  readonly network: string;
}
