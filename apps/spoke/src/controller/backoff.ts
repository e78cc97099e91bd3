import type { Random } from '#ports';

/** Shortest and longest wait between tries. */
export interface BackoffLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/** The limits that every retry of this role keeps to, unless it says otherwise. */
export const DEFAULT_BACKOFF: BackoffLimits = { minMs: 1_000, maxMs: 30_000 };

/** Waits that double from the shortest to the longest, each spread by ±50 % so that many members do not come at once. */
export class Backoff {
  #baseMs: number;
  constructor(
    private readonly random: Random,
    private readonly limits: BackoffLimits = DEFAULT_BACKOFF,
  ) {
    this.#baseMs = limits.minMs;
  }

  /** The next wait; within the limits. */
  nextMs(): number {
    const spreadMs = this.#baseMs * (0.5 + this.random.next());
    this.#baseMs = Math.min(this.#baseMs * 2, this.limits.maxMs);
    return Math.round(Math.min(Math.max(spreadMs, this.limits.minMs), this.limits.maxMs));
  }

  /** After a success: the next failure waits the shortest time again. */
  reset(): void {
    this.#baseMs = this.limits.minMs;
  }
}
