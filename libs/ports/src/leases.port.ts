/** Proof of a lease that goes with a write: a holder of an older token writes nothing. */
export interface Fence {
  readonly lease: string;
  readonly fencingToken: bigint;
}

/** A lease that is held now. */
export interface Lease extends Fence {
  readonly holder: string;
  readonly expiresAtMs: number;
}

/** Named leases with fencing tokens that only grow. Judged by the store's clock. */
export abstract class LeaseStore {
  /** The lease, taken or renewed (a renewal keeps its token); undefined while another holder has it. */
  abstract acquire(lease: string, holder: string, ttlMs: number): Promise<Lease | undefined>;
  /** Gives the lease up; no error where it is no longer ours. */
  abstract release(lease: Lease): Promise<void>;
}
