import type { BackendPort } from './backend.js';
import { digest } from './digest.js';
import type { BackendName } from './ids.js';

/** How other members reach this one, and from where its own calls come. Lists are sorted. */
export interface MemberReach {
  /** Addresses at which its gateway nodes take calls from other networks; empty where it has none. */
  readonly gateways: readonly string[];
  /** Addresses from which calls of its pods come to another network: gateways let these in. */
  readonly egress: readonly string[];
  /** Addresses of up to three of its nodes, for path probes from members of the same network. */
  readonly probes: readonly string[];
  /** Port on which node agents take path probes, on nodes and gateways alike. */
  readonly probePort: number;
}

/** A backend's port and the port of the provider's gateway nodes that leads to it. */
export interface GatewayPortAssignment {
  readonly port: BackendPort;
  readonly gatewayPort: number;
}

/** A gateway port that a member's nodes serve now: a hub that does not know of it takes it over, so that a rebuilt hub moves no port. */
export interface HeldGatewayPort extends GatewayPortAssignment {
  readonly backend: BackendName;
}

/** What a report says of a cluster's reach. */
export interface ReachReport {
  /** {@link reachDigest} of its reach after the report. */
  readonly digest: string;
  /** In a full report, and where it changed. */
  readonly changed: MemberReach | undefined;
  /** In a full report: what its gateway nodes serve now. */
  readonly gatewayPorts: readonly HeldGatewayPort[];
}

/** The content hash of a member's reach: equal on the spoke and on the hub. */
export const reachDigest = ({ gateways, egress, probes, probePort }: MemberReach): string => digest(JSON.stringify([gateways, egress, probes, probePort]));
