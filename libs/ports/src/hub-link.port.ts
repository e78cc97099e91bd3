import type { ClusterId, FirstSeenPlaces, ImportedBackend, MemberBackend, MemberPaths, ReachReport } from '#domain/fleet';

/** Where a spoke stands in the hub's history. */
export interface SyncCursor {
  readonly epoch: string;
  readonly sequence: bigint;
  /** Tells this place from another of its number in a history that was lost with a database; empty where the hub gave none. */
  readonly mark: string;
}

/** A spoke's saved identity: what Enrol bound. The private key never leaves the cluster's own Secret. */
export interface SpokeIdentity {
  readonly clusterId: ClusterId;
  readonly keyId: string;
  readonly audience: string;
  readonly hubUrl: string;
  readonly caBundlePem: string;
  /** PKCS #8 PEM. */
  readonly privateKeyPem: string;
}

/** One report; see ReportRequest in the contract. */
export interface HubReport {
  readonly full: boolean;
  readonly changed: readonly MemberBackend[];
  readonly removed: readonly string[];
  readonly digest: string;
  readonly applied: SyncCursor | undefined;
  /** How others reach this cluster; absent while that is not known. */
  readonly reach?: ReachReport;
  /** In a full report: the places that hubs have given this cluster's own definitions. */
  readonly firstSeen?: FirstSeenPlaces;
}

/** The hub's answer to a report. */
export interface HubReportAnswer {
  readonly resendFull: boolean;
  readonly intervalMs: number;
}

/** A fleet backend as the hub tells it. */
export interface HubResource {
  readonly name: string;
  readonly version: string;
  readonly backend: ImportedBackend;
  /** The place of this cluster's own definition in the order in which hubs first saw them; absent where it has none. */
  readonly firstSeen?: bigint;
}

/** What changed since the cursor; see SyncResponse in the contract. */
export interface HubSync {
  readonly cursor: SyncCursor;
  readonly full: boolean;
  readonly complete: boolean;
  readonly changed: readonly HubResource[];
  readonly removed: readonly string[];
  readonly caBundlePem: string | undefined;
  /** The ways between this member and others, where they changed. */
  readonly paths?: { readonly version: string; readonly paths: MemberPaths };
}

/**
 * A spoke's end of the spoke API. Throws FleetError: HUB_UNREACHABLE, HUB_TLS, HUB_TIMEOUT, HUB_UNAVAILABLE (`transient`);
 * HUB_UNKNOWN_MEMBER (`user`: this hub does not know the key; keep the last good state and wait for enrolment),
 * HUB_UNAUTHENTICATED, HUB_CLOCK, HUB_PERMISSION_DENIED, HUB_INVALID_REPORT, HUB_INVALID_ENROLMENT, HUB_TOKEN_USED,
 * HUB_TOKEN_EXPIRED, HUB_TOKEN_FOREIGN, HUB_UID_TAKEN, HUB_NAME_TAKEN, HUB_KEY_TAKEN, HUB_TOO_LARGE (`user`); HUB_INTERNAL
 * (`transient`: the hub failed); HUB_INVALID_SYNC, HUB_MALFORMED (`bug`: this spoke speaks what the hub does not understand).
 */
export abstract class HubLink {
  /** Binds the identity's public key, proving the join token. Idempotent for the same (token, uid, key). */
  abstract enrol(request: { readonly joinToken: string; readonly privateKeyPem: string; readonly clusterUid: string }): Promise<SpokeIdentity>;
  /**
   * The identity under a new key, which the present one signs for; that stays valid for an overlap. Idempotent, also long
   * after: a hub that took the new key before and has ended the old one since answers the same.
   */
  abstract rotateKey(identity: SpokeIdentity, newPrivateKeyPem: string): Promise<SpokeIdentity>;
  abstract report(identity: SpokeIdentity, report: HubReport): Promise<HubReportAnswer>;
  /** Long poll: answers on a change, or after `waitMs` with nothing changed. */
  abstract sync(identity: SpokeIdentity, cursor: SyncCursor | undefined, waitMs: number, signal: AbortSignal): Promise<HubSync>;
  /** Milliseconds by which the hub's clock is ahead of ours, as of the last answer; undefined before the first. */
  abstract clockOffsetMs(): number | undefined;
}
