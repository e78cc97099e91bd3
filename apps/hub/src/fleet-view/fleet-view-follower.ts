import type { FleetView } from '#domain/fleet';
import type { Logger } from '#platform';
import type { ChangeLog, Clock } from '#ports';

import { FleetViewSource, type ViewAtSequence } from '../core/fleet-view-source.js';
import { FleetFold } from './fleet-fold.js';

/** What a follower needs. */
export interface FollowerOptions {
  readonly changeLog: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often it looks without being woken: wake-ups can be lost, the sequence cannot. Default 5 s. */
  readonly pollMs?: number;
}

const POLL_MS = 5_000;
const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 5_000;

/** Keeps one replica's view in step with the change log. While the database is away the view stays as it was. */
export class FleetViewFollower extends FleetViewSource {
  readonly #options: FollowerOptions;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  #fold: FleetFold;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failure: string | undefined;
  #endAdvance: (() => Promise<void>) | undefined;
  #loop: Promise<void> | undefined;

  private constructor(options: FollowerOptions, fold: FleetFold) {
    super();
    this.#options = options;
    this.#fold = fold;
  }

  /** Loads the view and follows from there. Throws STORE_UNAVAILABLE where the database does not answer at start. */
  static async start(options: FollowerOptions): Promise<FleetViewFollower> {
    const follower = new FleetViewFollower(options, new FleetFold(await options.changeLog.loadView()));
    follower.#endAdvance = await options.changeLog.onAdvance(() => void follower.#try());
    follower.#loop = follower.#pollForEver();
    // What was written between the load and the first wake-up.
    await follower.#try();
    return follower;
  }

  get fold(): FleetFold {
    return this.#fold;
  }

  current(): ViewAtSequence {
    const { epoch, sequence, view } = this.#fold;
    return { epoch, sequence, view };
  }

  get view(): FleetView {
    return this.#fold.view;
  }

  /** Why this replica's view may be old; undefined while it follows. For readiness. */
  trouble(): string | undefined {
    return this.#failure;
  }

  /** Calls back after every change of the view. Returns the end of it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves once the view includes everything that was written before the call. Throws STORE_UNAVAILABLE. */
  async catchUp(): Promise<void> {
    // A read that already runs may have looked before the caller wrote; one that starts after it will see it.
    if (this.#running !== undefined) {
      this.#next ??= this.#running.catch(() => undefined).then(() => {
        this.#next = undefined;
        return this.#read();
      });
      return this.#next;
    }
    return this.#read();
  }

  async #read(): Promise<void> {
    this.#running ??= this.#readOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #readOnce(): Promise<void> {
    const { changeLog, logger } = this.#options;
    const fold = this.#fold;
    const batch = await changeLog.changesSince(fold.epoch, fold.sequence);
    if (batch === undefined) {
      this.#fold = new FleetFold(await changeLog.loadView());
      logger.info({ epoch: this.#fold.epoch, sequence: String(this.#fold.sequence) }, 'loaded the fleet view anew');
    } else if (batch.sequence === fold.sequence) {
      return;
    } else {
      fold.apply(batch);
    }
    for (const listener of this.#listeners) listener();
  }

  async #try(): Promise<boolean> {
    if (this.#stop.signal.aborted) return true;
    try {
      await this.catchUp();
      this.#failure = undefined;
      return true;
    } catch (error) {
      if (this.#failure === undefined) this.#options.logger.warn({ err: error }, 'the fleet view cannot follow the store; it stays as it was');
      this.#failure = 'the database does not answer; the view is as it was';
      return false;
    }
  }

  async #pollForEver(): Promise<void> {
    const { clock, pollMs = POLL_MS } = this.#options;
    let retryMs = RETRY_FIRST_MS;
    let isFollowing = true;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(isFollowing ? pollMs : retryMs, this.#stop.signal);
      isFollowing = await this.#try();
      retryMs = isFollowing ? RETRY_FIRST_MS : Math.min(retryMs * 2, RETRY_MAX_MS);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#listeners.clear();
    await this.#endAdvance?.();
    await this.#loop;
    await Promise.allSettled([this.#running, this.#next]);
  }
}
