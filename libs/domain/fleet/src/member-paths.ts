import type { BackendPort } from './backend.js';
import type { BackendName, ClusterId } from './ids.js';
import type { Path } from './import-set.js';

/** What one member must know of the ways between it and others, beside what it imports. */
export interface MemberPaths {
  readonly intake: GatewayIntake;
  /** Members that provide something to this one, sorted by cluster id: it probes the ways to them. */
  readonly peers: readonly PathPeer[];
}

/** What a member's gateway nodes shall take in. */
export interface GatewayIntake {
  /** Sorted by gateway port. */
  readonly openings: readonly GatewayOpening[];
  /** Every caller that an opening names, sorted by cluster id. */
  readonly callers: readonly GatewayCaller[];
}

/** One port of the gateway nodes: the backend's port that it leads to, and who may call. */
export interface GatewayOpening {
  readonly gatewayPort: number;
  readonly backend: BackendName;
  readonly port: BackendPort;
  /** Sorted. */
  readonly callers: readonly ClusterId[];
}

/** A member that may call, and the addresses from which it does. */
export interface GatewayCaller {
  readonly clusterId: ClusterId;
  readonly addresses: readonly string[];
}

/** Where path probes to another member go. */
export interface PathPeer {
  readonly clusterId: ClusterId;
  readonly path: Path;
  /** One to three addresses, sorted. */
  readonly addresses: readonly string[];
  readonly port: number;
}
