import type { BackendName, ClusterId } from '#domain/fleet';

/** What this replica last told a consumer. */
export interface ToldState {
  readonly epoch: string;
  readonly sequence: bigint;
  readonly mark: string;
  /** Version by name. */
  readonly versions: ReadonlyMap<BackendName, string>;
  /** Of its paths; undefined where this replica has told none. */
  readonly pathsVersion: string | undefined;
  /** Whether `versions` is everything that the consumer has. */
  readonly isWhole: boolean;
}

/**
 * What consumers were last told by this replica: it spares them what they have, and says which removals are news. Only a
 * cache: another replica, or this one after a restart, serves the same cursors without it.
 */
export class SyncLedger {
  readonly #told = new Map<ClusterId, ToldState>();

  /** What the consumer has, if this replica told it and nobody else did since. */
  find(consumer: ClusterId, cursor: { readonly epoch: string; readonly sequence: bigint; readonly mark: string }): ToldState | undefined {
    const told = this.#told.get(consumer);
    return told?.epoch === cursor.epoch && told.sequence === cursor.sequence && told.mark === cursor.mark ? told : undefined;
  }

  save(consumer: ClusterId, told: ToldState): void {
    this.#told.set(consumer, told);
  }

  /** Forgets consumers that are no members any more. */
  retain(members: ReadonlyMap<ClusterId, unknown>): void {
    if (this.#told.size <= members.size) return;
    for (const consumer of this.#told.keys()) if (!members.has(consumer)) this.#told.delete(consumer);
  }
}
