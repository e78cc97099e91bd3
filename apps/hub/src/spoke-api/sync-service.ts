import { create } from '@bufbuild/protobuf';

import { backendResourceName, CA_BUNDLE_RESOURCE, PATHS_RESOURCE, SPOKE_API_LIMITS, type SyncRequest, type SyncResponse, SyncResponseSchema, toWireImportedBackend, toWireMemberPaths } from '#contracts/spoke-api';
import { type ClusterId, digest } from '#domain/fleet';
import type { Logger } from '#platform';
import type { ChangeLog, Clock } from '#ports';

import type { FleetFold } from '../fleet-view/fleet-fold.js';
import type { FleetViewFollower } from '../fleet-view/fleet-view-follower.js';
import { type FleetPlanner, planSync, type SyncPlan } from './plan-sync.js';
import { problemsError, spokeApiError } from './spoke-api-errors.js';
import { SyncLedger, type ToldState } from './sync-ledger.js';

/** What Sync needs. */
export interface SyncServiceParts {
  readonly follower: FleetViewFollower;
  readonly changeLog: Pick<ChangeLog, 'markOf'>;
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
  readonly mark: string;
}

/** One call as it goes on. */
interface SyncCall {
  readonly consumer: ClusterId;
  cursor: Cursor | undefined;
  told: ToldState | undefined;
  /** The fold whose history the cursor is known to be of. */
  history: FleetFold | undefined;
}

/** Answers Sync: at once where there is news, else when there is some or the wait is over. */
export class SyncService {
  readonly #parts: SyncServiceParts;
  #ledger = new SyncLedger();
  /** The fold that the ledger's numbers are of. */
  #ledgerFold: FleetFold | undefined;
  readonly #waiting = new Map<ClusterId, number>();
  #waitingCount = 0;
  /** Callers whose cursor is of a history that this database does not hold. */
  readonly #lost = new Set<ClusterId>();

  constructor(parts: SyncServiceParts) {
    this.#parts = parts;
  }

  /** Calls that wait just now. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Callers that know what the database does not hold: above 0 a restore is to be declared. */
  get lostHistoryCount(): number {
    return this.#lost.size;
  }

  async sync(consumer: ClusterId, request: SyncRequest, signal: AbortSignal): Promise<SyncResponse> {
    if (request.waitMs > SPOKE_API_LIMITS.syncWaitMsMax) {
      throw problemsError('INVALID_SYNC', [{ path: 'waitMs', code: 'WAIT_TOO_LONG', message: `wait at most ${SPOKE_API_LIMITS.syncWaitMsMax} ms and call again` }]);
    }
    const cursor = request.epoch === '' ? undefined : { epoch: request.epoch, sequence: request.sequence, mark: request.mark };
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
    const { follower, clock } = this.#parts;
    const told = asked === undefined ? undefined : this.#ledgerOf(follower.fold).find(consumer, asked);
    const call: SyncCall = { consumer, cursor: asked, told, history: told === undefined ? undefined : follower.fold };
    for (;;) {
      const { fold } = follower;
      const answer = await this.#look(call, fold);
      if (answer !== undefined) return answer;
      if (follower.fold !== fold) continue;
      const leftMs = wait.deadlineMs - clock.monotonicMs();
      if (leftMs <= 0 || wait.signal.aborted) return this.#tellNothing(call);
      await this.#untilChange(leftMs, wait.signal, fold.sequence);
    }
  }

  /** The answer where there is news for the caller now. */
  async #look(call: SyncCall, fold: FleetFold): Promise<SyncResponse | undefined> {
    // A removed member keeps what it has: it is told that it is unknown, not that everything is gone.
    if (!fold.view.members.has(call.consumer)) {
      this.#lost.delete(call.consumer);
      throw spokeApiError('UNKNOWN_MEMBER', 'this cluster is no member any more; enrol with a new join token');
    }
    if (call.cursor?.epoch === fold.epoch && call.history !== fold && !(await this.#isOfHistory(fold, call.consumer, call.cursor))) return undefined;
    // A view that was loaded meanwhile is looked at anew.
    if (this.#parts.follower.fold !== fold) return undefined;
    const plan = planSync(fold, this.#parts.planner, call);
    this.#lost.delete(call.consumer);
    call.history = fold;
    call.told = plan.told;
    call.cursor = { epoch: fold.epoch, sequence: fold.sequence, mark: fold.mark };
    return plan.full || plan.changed.length > 0 || plan.removed.length > 0 || plan.paths !== undefined ? this.#tell(call.consumer, plan) : undefined;
  }

  // A replica that is behind its caller waits for its own reader. A caller whose cursor is of a history that was lost with a
  // database is told nothing, however far the log has grown since, until a declared restore begins a new epoch.
  async #isOfHistory(fold: FleetFold, consumer: ClusterId, cursor: Cursor): Promise<boolean> {
    const { follower, changeLog } = this.#parts;
    if (cursor.sequence > fold.sequence) await follower.catchUp();
    if (follower.fold !== fold) return false;
    if (cursor.sequence <= fold.sequence) {
      if (cursor.mark === '') return true;
      const mark = await changeLog.markOf(cursor.sequence);
      // What the log no longer holds leads to a full state.
      if (mark === undefined || mark === cursor.mark) return true;
    }
    if (!this.#lost.has(consumer)) this.#parts.logger.error({ clusterId: consumer, cursor: String(cursor.sequence), head: String(fold.sequence) }, 'a spoke knows what the database does not hold; if a backup was put back, declare the restore');
    this.#lost.add(consumer);
    return false;
  }

  // A view that was loaded anew may be of another history under the same numbers.
  #ledgerOf(fold: FleetFold): SyncLedger {
    if (this.#ledgerFold !== fold) this.#ledger = new SyncLedger();
    this.#ledgerFold = fold;
    return this.#ledger;
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
    const backends = plan.changed.map(({ backend, version, firstSeen = 0n }) => ({ name: backendResourceName(backend.name), version, firstSeen, body: { case: 'backend', value: toWireImportedBackend(backend) } as const }));
    const bundle = { name: CA_BUNDLE_RESOURCE, version: digest(caBundlePem), body: { case: 'caBundle', value: { pem: caBundlePem } } as const };
    const paths = plan.paths === undefined ? [] : [{ name: PATHS_RESOURCE, version: plan.paths.version, body: { case: 'paths', value: toWireMemberPaths(plan.paths.paths) } as const }];
    const { epoch, sequence, mark } = plan.told;
    return create(SyncResponseSchema, { epoch, sequence, mark, full: plan.full, complete: plan.complete, changed: [...(plan.full ? [bundle] : []), ...paths, ...backends], removed: plan.removed.map(backendResourceName) });
  }

  #tellNothing({ consumer, cursor, told, history }: SyncCall): SyncResponse {
    if (told !== undefined && history === this.#parts.follower.fold) this.#remember(consumer, told);
    return create(SyncResponseSchema, { epoch: cursor?.epoch ?? '', sequence: cursor?.sequence ?? 0n, mark: cursor?.mark ?? '' });
  }

  #remember(consumer: ClusterId, told: ToldState): void {
    const ledger = this.#ledgerOf(this.#parts.follower.fold);
    ledger.save(consumer, told);
    ledger.retain(this.#parts.follower.view.members);
  }
}
