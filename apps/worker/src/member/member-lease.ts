import { FleetError } from '#domain/fleet';
import type { Fence, Lease, LeaseStore } from '#ports';

/** How long a worker may be silent before another may take its member. */
const MEMBER_LEASE_TTL_MS = 60_000;

/** The right to write about one member, renewed before each write, so that a worker that slept writes nothing. */
export class MemberLease {
  readonly #leases: LeaseStore;
  #lease: Lease;
  private constructor(leases: LeaseStore, lease: Lease) {
    this.#leases = leases;
    this.#lease = lease;
  }

  /** Takes the lease, or undefined while another worker has it. */
  static async take(leases: LeaseStore, key: string, holder: string): Promise<MemberLease | undefined> {
    const lease = await leases.acquire(`member/${key}`, holder, MEMBER_LEASE_TTL_MS);
    return lease === undefined ? undefined : new MemberLease(leases, lease);
  }

  /** The proof that goes with a write. Throws STORE_FENCED once another worker took over. */
  async fence(): Promise<Fence> {
    const renewed = await this.#leases.acquire(this.#lease.lease, this.#lease.holder, MEMBER_LEASE_TTL_MS);
    if (renewed?.fencingToken !== this.#lease.fencingToken) throw new FleetError('STORE_FENCED', 'transient', 'Another worker looks after this member now.');
    this.#lease = renewed;
    return renewed;
  }

  async release(): Promise<void> {
    await this.#leases.release(this.#lease);
  }
}
