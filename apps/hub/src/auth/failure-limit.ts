import type { Clock } from '#ports';

/** Failures that one address may have within the window before it must wait. */
export const AUTH_FAILURES_MAX = 20;

/** The window over which failures are counted. */
export const AUTH_FAILURE_WINDOW_MS = 60_000;

/** The most addresses that are remembered; beyond it the one that failed longest ago is forgotten. */
const ADDRESSES_MAX = 10_000;

interface Failures {
  readonly count: number;
  readonly sinceMs: number;
}

/** Counts failed authentications by caller address, so that nobody can try tokens fast. Memory is bounded. */
export class FailureLimit {
  readonly #clock: Clock;
  // In order of the last failure.
  readonly #failures = new Map<string, Failures>();
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds that an address must wait; 0 where it may try. */
  waitMs(address: string): number {
    const failures = this.#current(address);
    if (failures === undefined || failures.count < AUTH_FAILURES_MAX) return 0;
    return failures.sinceMs + AUTH_FAILURE_WINDOW_MS - this.#clock.monotonicMs();
  }

  /** Remembers one failure. */
  record(address: string): void {
    const failures = this.#current(address) ?? { count: 0, sinceMs: this.#clock.monotonicMs() };
    this.#failures.delete(address);
    this.#failures.set(address, { ...failures, count: failures.count + 1 });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > ADDRESSES_MAX && oldest !== undefined) this.#failures.delete(oldest);
  }

  #current(address: string): Failures | undefined {
    const failures = this.#failures.get(address);
    return failures === undefined || this.#clock.monotonicMs() - failures.sinceMs >= AUTH_FAILURE_WINDOW_MS ? undefined : failures;
  }
}
