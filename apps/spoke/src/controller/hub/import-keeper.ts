import { isFleetError, type ClusterId, type ImportSet, type MemberPaths } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, HubSync, Random } from '#ports';

import { Backoff } from '../backoff.js';
import type { LastGoodStore } from '../last-good/last-good-store.js';
import { CoalescingLoop } from '../coalescing-loop.js';
import { applySync, effectiveImports, effectivePaths, NO_IMPORTS, releaseHeld, restartableState, type ImportState } from './import-state.js';

/** What an {@link ImportKeeper} needs. */
export interface ImportKeeperParts {
  readonly store: LastGoodStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Whether this replica may write. */
  readonly mayWrite: () => boolean;
  readonly onChange: () => void;
  /** The shortest time between two saves. */
  readonly saveIntervalMs: number;
  /** How often what was saved is looked at. */
  readonly verifyIntervalMs: number;
  /** How long absence from a new epoch's full state is no evidence. */
  readonly graceMs: number;
}

/** Keeps what the hub told: in memory for plans, and the last complete state in the cluster for the next start. */
export class ImportKeeper {
  readonly #saving: CoalescingLoop;
  readonly #stop = new AbortController();
  #state: ImportState = NO_IMPORTS;
  #effective: ImportSet = effectiveImports(NO_IMPORTS);
  #paths: MemberPaths | undefined;
  #changedMs: number | undefined;
  #saved: ImportState | undefined;
  #verifying: Promise<void> | undefined;

  constructor(private readonly parts: ImportKeeperParts) {
    const { clock, random, logger } = parts;
    this.#saving = new CoalescingLoop({ clock, random, debounceMs: parts.saveIntervalMs, run: () => this.#save(), onError: (err) => logger.warn({ err }, 'could not save the last good state') });
  }

  /** Loads the last good state, trying until the API server has said what it is; from then on it is kept whole. */
  async load(): Promise<void> {
    await this.#load();
    this.#verifying ??= this.#verify();
  }

  async #load(): Promise<void> {
    const backoff = new Backoff(this.parts.random);
    while (!this.#stop.signal.aborted) {
      try {
        const state = await this.parts.store.load();
        if (state !== undefined) this.#set(state);
        this.#saved = state;
        return;
      } catch (err) {
        const code = isFleetError(err) ? err.code : 'UNEXPECTED';
        this.parts.logger.warn({ err, code }, 'could not load the last good state');
        if (code === 'LAST_GOOD_CORRUPT') return;
      }
      await this.parts.clock.sleep(backoff.nextMs(), this.#stop.signal);
    }
  }

  /** Folds an answer of the hub in. */
  apply(sync: HubSync, consumer: ClusterId): void {
    const before = this.#state;
    const { clock, graceMs, logger } = this.parts;
    this.#set(applySync(before, sync, { consumer, nowMs: clock.nowMs(), graceMs }), sync.full || sync.changed.length > 0 || sync.removed.length > 0 || sync.paths !== undefined);
    if (before.cursor?.epoch !== sync.cursor.epoch) logger.info({ epoch: sync.cursor.epoch, complete: sync.complete, held: this.#state.held?.resources.size ?? 0 }, 'hub has a new epoch');
    if (this.#state.held?.untilMs !== undefined && before.held?.untilMs !== this.#state.held.untilMs) void this.#releaseLater(this.#state.held.untilMs);
    this.saveSoon();
  }

  /** Saves what is not saved yet, when it may be written. */
  saveSoon(): void {
    if (this.hasSpoken && !this.#isSaved() && this.parts.mayWrite()) this.#saving.poke();
  }

  get state(): ImportState {
    return this.#state;
  }

  /** Whether the hub has ever said anything, to this process or to one before it. */
  get hasSpoken(): boolean {
    return this.#state.cursor !== undefined || this.#state.told.size > 0;
  }

  /** What plans use. */
  get imports(): ImportSet {
    return this.#effective;
  }

  /** The ways to and from other members; undefined while the hub says nothing of them. */
  get paths(): MemberPaths | undefined {
    return this.#paths;
  }

  /** When the hub last told something, epoch ms. */
  get changedMs(): number | undefined {
    return this.#changedMs;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#saving.stop();
    await this.#verifying;
  }

  #set(state: ImportState, isNews = true): void {
    this.#state = state;
    if (!isNews) return;
    this.#changedMs = this.parts.clock.nowMs();
    this.#effective = effectiveImports(state);
    this.#paths = effectivePaths(state);
    this.parts.onChange();
  }

  // A cursor that moved over other clusters' changes is not worth a write.
  #isSaved(): boolean {
    return this.#saved?.told === this.#state.told && this.#saved.paths === this.#state.paths && this.#saved.consumer === this.#state.consumer && this.#saved.held === this.#state.held && this.#saved.firstSeen === this.#state.firstSeen && this.#saved.cursor?.epoch === this.#state.cursor?.epoch;
  }

  // It is needed when the hub is away, and then it is too late to notice that somebody deleted or changed it.
  async #verify(): Promise<void> {
    const { clock, logger, store, mayWrite, verifyIntervalMs } = this.parts;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(verifyIntervalMs, signal);
      if (signal.aborted || !this.hasSpoken || !this.#isSaved() || !mayWrite()) continue;
      const isWhole = await store.isWhole().catch(() => true);
      if (isWhole) continue;
      logger.warn({ code: 'LAST_GOOD_CORRUPT' }, 'the saved last good state is gone or changed; it is saved again');
      this.#saved = undefined;
      this.saveSoon();
    }
  }

  async #releaseLater(untilMs: number): Promise<void> {
    await this.parts.clock.sleep(Math.max(0, untilMs - this.parts.clock.nowMs()), this.#stop.signal);
    if (this.#stop.signal.aborted) return;
    this.#set(releaseHeld(this.#state, untilMs));
    this.saveSoon();
  }

  async #save(): Promise<void> {
    const state = this.#state;
    if (!this.hasSpoken || this.#isSaved() || !this.parts.mayWrite()) return;
    await this.parts.store.save(restartableState(state), this.parts.clock.nowMs());
    this.#saved = state;
  }
}
