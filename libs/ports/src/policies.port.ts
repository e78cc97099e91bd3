import type { BackendName, ClusterId, Freeze, SamenessPolicy } from '#domain/fleet';

import type { Fence } from './leases.port.js';

/** What is written when automation stops. */
export interface FreezeRequest {
  readonly reason: string;
  /** Capacities by which shares are split at this moment; see `Freeze.capacities`. */
  readonly capacities: ReadonlyMap<BackendName, ReadonlyMap<ClusterId, number>>;
}

/** Sameness policies and the freeze. Every change is audited in its own transaction. Codes: POLICY_NOT_FOUND (`user`), STORE_FENCED. */
export abstract class PolicyStore {
  /** Creates or replaces the policy of that name. */
  abstract save(policy: SamenessPolicy, by: string): Promise<void>;
  abstract remove(name: string, by: string): Promise<void>;
  abstract find(name: string): Promise<SamenessPolicy | undefined>;
  /** Sorted by name. */
  abstract list(): Promise<readonly SamenessPolicy[]>;
  /** Stops automation; where it is already frozen the first freeze stays and is returned. */
  abstract freeze(request: FreezeRequest, by: string, fence?: Fence): Promise<Freeze>;
  /** Lets automation go on; no error where it was not frozen. */
  abstract resume(by: string, fence?: Fence): Promise<void>;
}
