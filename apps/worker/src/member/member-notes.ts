import { spokeReportingCondition, stampConditions, type MemberCondition } from '#domain/membership';
import type { ClusterObservation, ClusterRecord, Clock, FleetStore } from '#ports';

import type { MemberLease } from './member-lease.js';

/** Silence after which a spoke counts as silent in its condition: well over its longest report interval. */
const SPOKE_SILENT_AFTER_MS = 30_000;

/** Writes what was seen of one member, stamped and fenced. What is not written stays as it was last known. */
export class MemberNotes {
  readonly #record: ClusterRecord;
  readonly #lease: MemberLease;
  readonly #parts: { readonly store: FleetStore; readonly clock: Clock };
  constructor(record: ClusterRecord, lease: MemberLease, parts: { readonly store: FleetStore; readonly clock: Clock }) {
    this.#record = record;
    this.#lease = lease;
    this.#parts = parts;
  }

  async write(seen: Omit<ClusterObservation, 'conditions'> & { readonly conditions: readonly MemberCondition[] }): Promise<void> {
    const { store, clock } = this.#parts;
    const nowMs = clock.nowMs();
    // The spoke's own signal stands beside whatever the API server said, and is never concluded from it.
    const spoke = spokeReportingCondition(this.#record.spoke, nowMs, SPOKE_SILENT_AFTER_MS);
    const conditions = stampConditions([...seen.conditions, spoke], this.#record.conditions, nowMs);
    await store.membership.recordObservation(this.#record.cluster.id, { ...seen, conditions }, await this.#lease.fence());
  }
}
