import type { Clock, Random } from '#ports';

import { Backoff, DEFAULT_BACKOFF, type BackoffLimits } from './backoff.js';

/** What a {@link CoalescingLoop} runs, and how. */
export interface CoalescingLoopOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How long changes gather before a run; 0 runs at the next turn of the event loop. */
  readonly debounceMs: number;
  readonly backoff?: BackoffLimits;
  /** Reads the latest state by itself; it gets no event. */
  readonly run: () => Promise<void> | void;
  readonly onError: (error: unknown) => void;
}

/**
 * Runs a level-based step whenever something changed: never two at once, never one for each change, and once more when a
 * change came during a run. A failed run is tried again with backoff for ever.
 */
export class CoalescingLoop {
  readonly #options: CoalescingLoopOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  #pending = false;
  #running: Promise<void> | undefined;

  constructor(options: CoalescingLoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.random, options.backoff ?? DEFAULT_BACKOFF);
  }

  /** Something changed. Cheap, and safe to call at any time. */
  poke(): void {
    if (this.#stop.signal.aborted) return;
    this.#pending = true;
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
    });
  }

  /** Whether nothing is pending or running. */
  get idle(): boolean {
    return this.#running === undefined;
  }

  /** Ends after the run that is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #drain(): Promise<void> {
    const { signal } = this.#stop;
    while (this.#pending && !signal.aborted) {
      await this.#gather();
      this.#pending = false;
      try {
        await this.#options.run();
        this.#backoff.reset();
      } catch (error) {
        this.#options.onError(error);
        this.#pending = true;
        await this.#options.clock.sleep(this.#backoff.nextMs(), signal);
      }
    }
  }

  async #gather(): Promise<void> {
    if (this.#options.debounceMs > 0) await this.#options.clock.sleep(this.#options.debounceMs, this.#stop.signal);
    else await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
