import type { ClusterId } from '#domain/fleet';

/** A join token as the store knows it: never the token itself. */
export interface JoinTokenGrant {
  readonly clusterId: ClusterId;
  /** SHA-256 of the token's secret, hex. */
  readonly tokenHash: string;
  readonly expiresAtMs: number;
  /** Whether another cluster (uid) may take over the name. */
  readonly replace: boolean;
}

/** Where a join token of this hub stands. */
export interface JoinTokenState {
  readonly clusterId: ClusterId;
  readonly expiresAtMs: number;
  readonly isUsed: boolean;
}

/** What a spoke presents at Enrol. */
export interface EnrolmentClaim {
  readonly tokenHash: string;
  /** The name that the presented token carries; must be the one it was made for. */
  readonly clusterId: ClusterId;
  readonly clusterUid: string;
  /** Raw Ed25519 public key, base64url. */
  readonly publicKey: string;
  readonly spokeVersion: string;
}

/** A key that may sign for a cluster. */
export interface SpokeKey {
  /** base64url SHA-256 of the raw public key: the same key always has the same id. */
  readonly keyId: string;
  readonly clusterId: ClusterId;
  readonly publicKey: string;
  /** Set once a newer key took over: until then both are valid. */
  readonly notAfterMs: number | undefined;
}

/**
 * Binds spokes to cluster ids. Codes (`user`): CLUSTER_NOT_FOUND, ENROL_TOKEN_FOREIGN (not made by this hub, or for another name),
 * ENROL_TOKEN_USED, ENROL_TOKEN_EXPIRED, ENROL_UID_TAKEN (this uid is a member under another name), ENROL_NAME_TAKEN (the name
 * belongs to another uid), ENROL_KEY_TAKEN (the key is another cluster's).
 */
export abstract class EnrolmentStore {
  abstract createJoinToken(grant: JoinTokenGrant, by: string): Promise<void>;
  /** The token of this hash; undefined where this store has none: made by another hub, or after the backup that was put back. */
  abstract findJoinToken(tokenHash: string): Promise<JoinTokenState | undefined>;
  /**
   * Consumes the token and binds uid and key, all or nothing. Idempotent for the same (token, uid, key), also after the
   * token expired. A known uid keeps its identity, labels and reports; its older keys end after `overlapMs`.
   */
  abstract enrol(claim: EnrolmentClaim, overlapMs: number): Promise<SpokeKey>;
  /** The key if it is valid now; undefined makes the caller answer UNKNOWN_MEMBER. */
  abstract findKey(keyId: string): Promise<SpokeKey | undefined>;
  /** Adds a key of the same cluster; the one that signed for it ends after `overlapMs`. Idempotent. */
  abstract rotateKey(signedBy: SpokeKey, newPublicKey: string, overlapMs: number): Promise<SpokeKey>;
}
