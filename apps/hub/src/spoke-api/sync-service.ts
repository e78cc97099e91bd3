import { create } from '@bufbuild/protobuf';

import { backendResourceName, CA_BUNDLE_RESOURCE, SPOKE_API_LIMITS, type SyncRequest, type SyncResponse, SyncResponseSchema, toWireImportedBackend } from '#contracts/spoke-api';
import { type ClusterId, digest } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock } from '#ports';

import type { FleetViewFollower } from '../fleet-view/fleet-view-follower.js';
import { type FleetPlanner, planSync, type SyncPlan } from './plan-sync.js';
import { problemsError, spokeApiError } from './spoke-api-errors.js';
import { SyncLedger, type ToldState } from './sync-ledger.js';

/** What Sync needs. */
export interface SyncServiceParts {
  readonly follower: FleetViewFollower;
  readonly planner: FleetPlanner;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly caBundlePem: string;
  readonly longPollsMax: number;
  readonly longPollsPerClusterMax: number;
}

interface Cursor {
  readonly epoch: string;
  readonly sequence: bigint;
}

/** Answers Sync: at once where there is news, else when there is some or the wait is over. */
export class SyncService {
  readonly #parts: SyncServiceParts;
  readonly #ledger = new SyncLedger();
  readonly #waiting = new Map<ClusterId, number>();
  #waitingCount = 0;
  #warnedOfLostHistory = false;

  constructor(parts: SyncServiceParts) {
    this.#parts = parts;
  }

  /** Calls that wait just now. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  async sync(consumer: ClusterId, request: SyncRequest, signal: AbortSignal): Promise<SyncResponse> {
    if (request.waitMs > SPOKE_API_LIMITS.syncWaitMsMax) {
      throw problemsError('INVALID_SYNC', [{ path: 'waitMs', code: 'WAIT_TOO_LONG', message: `wait at most ${SPOKE_API_LIMITS.syncWaitMsMax} ms and call again` }]);
    }
    const cursor = request.epoch === '' ? undefined : { epoch: request.epoch, sequence: request.sequence };
    // A member that enrolled through another replica may be news to this one.
    if (!this.#parts.follower.view.members.has(consumer)) await this.#parts.follower.catchUp();
    this.#enter(consumer);
    try {
      return await this.#answer(consumer, cursor, { deadlineMs: this.#parts.clock.monotonicMs() + request.waitMs, signal });
    } finally {
      this.#leave(consumer);
    }
  }

  #enter(consumer: ClusterId): void {
    const own = this.#waiting.get(consumer) ?? 0;
    const { longPollsMax, longPollsPerClusterMax } = this.#parts;
    if (this.#waitingCount >= longPollsMax || own >= longPollsPerClusterMax) throw spokeApiError('OVERLOADED', 'the hub serves as many Sync calls as it may; try again in a few seconds');
    this.#waitingCount += 1;
    this.#waiting.set(consumer, own + 1);
  }

  #leave(consumer: ClusterId): void {
    this.#waitingCount -= 1;
    const own = (this.#waiting.get(consumer) ?? 1) - 1;
    if (own === 0) this.#waiting.delete(consumer);
    else this.#waiting.set(consumer, own);
  }

  async #answer(consumer: ClusterId, asked: Cursor | undefined, wait: { readonly deadlineMs: number; readonly signal: AbortSignal }): Promise<SyncResponse> {
    const { follower, planner, clock } = this.#parts;
    let cursor = asked;
    let told = asked === undefined ? undefined : this.#ledger.find(consumer, asked);
    for (;;) {
      const { fold } = follower;
      // A removed member keeps what it has: it is told that it is unknown, not that everything is gone.
      if (!fold.view.members.has(consumer)) throw spokeApiError('UNKNOWN_MEMBER', 'this cluster is no member any more; enrol with a new join token');
      if (cursor?.epoch === fold.epoch && cursor.sequence > fold.sequence) {
        await this.#noteCallerAhead(cursor);
      } else {
        const plan = planSync(fold, planner, { consumer, cursor, told });
        const hasNews = plan.full || plan.changed.length > 0 || plan.removed.length > 0;
        told = plan.told;
        cursor = { epoch: fold.epoch, sequence: fold.sequence };
        if (hasNews) return this.#tell(consumer, plan);
      }
      const leftMs = wait.deadlineMs - clock.monotonicMs();
      if (leftMs <= 0 || wait.signal.aborted) return this.#tellNothing(consumer, cursor, told);
      await this.#untilChange(leftMs, wait.signal, fold.sequence);
    }
  }

  // This replica is behind: it waits for its own reader and answers nothing until then.
  async #noteCallerAhead(cursor: Cursor): Promise<void> {
    const { follower, logger } = this.#parts;
    await follower.catchUp();
    const { fold } = follower;
    if (this.#warnedOfLostHistory || cursor.epoch !== fold.epoch || cursor.sequence <= fold.sequence) return;
    this.#warnedOfLostHistory = true;
    logger.error({ cursor: String(cursor.sequence), head: String(fold.sequence) }, 'a spoke has seen more than the database holds; if a backup was put back, declare the restore');
  }

  async #untilChange(leftMs: number, signal: AbortSignal, sequence: bigint): Promise<void> {
    const { follower, clock } = this.#parts;
    if (follower.fold.sequence !== sequence) return;
    const woken = new AbortController();
    const end = follower.onChange(() => woken.abort());
    await clock.sleep(leftMs, AbortSignal.any([woken.signal, signal]));
    end();
    woken.abort();
  }

  #tell(consumer: ClusterId, plan: SyncPlan): SyncResponse {
    this.#remember(consumer, plan.told);
    const { caBundlePem } = this.#parts;
    const backends = plan.changed.map(({ backend, version }) => ({ name: backendResourceName(backend.name), version, body: { case: 'backend', value: toWireImportedBackend(backend) } as const }));
    const bundle = { name: CA_BUNDLE_RESOURCE, version: digest(caBundlePem), body: { case: 'caBundle', value: { pem: caBundlePem } } as const };
    const { epoch, sequence } = plan.told;
    return create(SyncResponseSchema, { epoch, sequence, full: plan.full, complete: plan.complete, changed: plan.full ? [bundle, ...backends] : backends, removed: plan.removed.map(backendResourceName) });
  }

  #tellNothing(consumer: ClusterId, cursor: Cursor | undefined, told: ToldState | undefined): SyncResponse {
    if (told !== undefined) this.#remember(consumer, told);
    return create(SyncResponseSchema, { epoch: cursor?.epoch ?? '', sequence: cursor?.sequence ?? 0n });
  }

  #remember(consumer: ClusterId, told: ToldState): void {
    this.#ledger.save(consumer, told);
    this.#ledger.retain(this.#parts.follower.view.members);
  }
}
