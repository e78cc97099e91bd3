import type { BackendPort, Endpoint, Locality, SessionAffinity, TrafficClass } from './backend.js';
import type { BackendName, ClusterId } from './ids.js';

/** How a consumer reaches a provider's endpoints: pod addresses as they are, or the provider's gateway. */
export type Path = 'direct' | 'gateway';

/** One provider cluster of an imported backend. */
export interface ImportedProvider {
  readonly clusterId: ClusterId;
  readonly locality: Locality;
  readonly path: Path;
  /** Empty for the consumer itself: a cluster knows its own endpoints sooner and better than the hub does. */
  readonly endpoints: readonly Endpoint[];
  /** Port order for {@link Endpoint.targetPorts}. */
  readonly ports: readonly BackendPort[];
  /** Ready endpoints that the shares assumed; without the hub a spoke may only scale a share down by ready/assumed. */
  readonly readyAssumed: number;
}

/** The split of one backend port over provider clusters; shares sum to 10,000, or the list is empty. */
export interface ImportedPort {
  readonly port: BackendPort;
  readonly shares: readonly ProviderShare[];
}

/** A provider's part of a port's traffic, in ten-thousandths. */
export interface ProviderShare {
  readonly clusterId: ClusterId;
  readonly shareBp: number;
}

/** Parts of one backend disagree on a field; the first definition that the hub saw stays in force. */
export interface BackendConflict {
  readonly field: 'trafficClass' | 'workUnit' | 'portProtocol' | 'sessionAffinity';
  readonly winner: ClusterId;
  readonly losers: readonly ClusterId[];
  readonly message: string;
}

/** What one consumer cluster sees of one fleet backend. */
export interface ImportedBackend {
  readonly name: BackendName;
  readonly trafficClass: TrafficClass;
  readonly sessionAffinity: SessionAffinity;
  readonly providers: readonly ImportedProvider[];
  readonly ports: readonly ImportedPort[];
  readonly conflicts: readonly BackendConflict[];
  /** Why this cluster may not export or import the backend: the policy's name and a sentence; empty where it may. */
  readonly refusals: readonly string[];
  /** Members that define this backend, and those of them with a ready endpoint (status counts only). */
  readonly memberCount: number;
  readonly servingCount: number;
}

/** Everything that one consumer cluster must know of the rest of the fleet; sorted by name. */
export interface ImportSet {
  readonly backends: readonly ImportedBackend[];
}

/** The sum of all shares of a split. */
export const SHARE_TOTAL_BP = 10_000;
