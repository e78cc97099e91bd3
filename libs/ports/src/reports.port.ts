import type { BackendName, ClusterId, FirstSeenPlaces, Freshness, MemberBackend, ReachReport } from '#domain/fleet';

import type { Fence } from './leases.port.js';

/** A spoke's report, parsed and validated. */
export interface MemberReport {
  readonly clusterId: ClusterId;
  /** `changed` is everything; what the store has beyond it goes. */
  readonly full: boolean;
  readonly changed: readonly MemberBackend[];
  readonly removed: readonly BackendName[];
  /** `reportDigest` of the cluster's whole state after this report. */
  readonly digest: string;
  readonly applied: { readonly epoch: string; readonly sequence: bigint } | undefined;
  readonly spokeVersion: string;
  readonly clockSkewMs: number;
  /** How others reach the cluster; absent where its spoke never says, as older ones do. */
  readonly reach?: ReachReport;
  /** When hubs first saw these definitions, as its spoke was told; see settleFirstSeen. */
  readonly firstSeen?: FirstSeenPlaces;
}

/** What became of a report. */
export interface ReportOutcome {
  /** The store's digest differs from the spoke's, or it never had a full report: the spoke must send everything. */
  readonly resendFull: boolean;
  /** Number of the last log entry that the report made; undefined where it changed nothing. */
  readonly sequence: bigint | undefined;
}

/** The lease holder's judgement of one member. */
export interface Judgement {
  readonly clusterId: ClusterId;
  readonly freshness: Freshness;
  /** The last report that the judgement knew of (undefined: none); one that came since makes it void. */
  readonly lastReportAtMs: number | undefined;
}

/**
 * What members say they offer. Codes: CLUSTER_NOT_FOUND (`user`), REPORT_DIGEST_MISMATCH (`user`: a full report whose digest is
 * not that of its content; nothing was written), REPORT_TOO_MANY_BACKENDS (`user`), STORE_FENCED (`transient`).
 */
export abstract class ReportStore {
  /**
   * Writes what differs, one log entry per changed backend, and the heartbeat. While the cluster has gateways every port of its
   * backends has a gateway port of its own (see planGatewayPorts); a backend whose numbers change is a changed one. A first full report makes a member
   * `fresh` with its first list complete; any accepted report makes a `stale` one `fresh` again.
   */
  abstract accept(report: MemberReport): Promise<ReportOutcome>;
  /** Writes judgements as log entries. Void and unchanged ones are left out; returns those that were written. */
  abstract judge(judgements: readonly Judgement[], fence: Fence | undefined): Promise<readonly ClusterId[]>;
}
