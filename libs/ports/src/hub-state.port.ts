/** What a hub is, across its replicas. */
export interface HubIdentity {
  /** `restoreCounter.randomId`: changes on initialisation and on a declared restore, not on restart. */
  readonly epoch: string;
  readonly restoreCounter: number;
  /** When this epoch began. */
  readonly epochBeganAtMs: number;
}

/** The hub's own certificate authority. */
export interface HubAuthority {
  readonly certificatePem: string;
  /** PKCS #8 PEM; encrypted at rest. */
  readonly privateKeyPem: string;
}

/** Facts that all replicas share. */
export abstract class HubStateStore {
  abstract identity(): Promise<HubIdentity>;
  /**
   * Says that the database was put back from a backup: a new epoch with a higher restore counter. Every member is asked for a
   * full report, and nothing of the backup reaches a spoke that knows better until they have answered or are judged stale.
   */
  abstract declareRestore(by: string): Promise<HubIdentity>;
  /** Keeps this authority if there is none yet; returns the one in force. */
  abstract saveAuthority(authority: HubAuthority): Promise<HubAuthority>;
  abstract openAuthority(): Promise<HubAuthority | undefined>;
  /** Keeps this hash (SHA-256 hex) if there is none yet; true where it is now ours, so that the token is printed once. */
  abstract saveAdminTokenHash(hash: string): Promise<boolean>;
  abstract adminTokenHash(): Promise<string | undefined>;
}
