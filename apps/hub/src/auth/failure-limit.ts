import type { Clock } from '#ports';

/** Failures that one address may have within the window before it must wait. */
export const AUTH_FAILURES_MAX = 20;

/** The window over which failures are counted. */
export const AUTH_FAILURE_WINDOW_MS = 60_000;

/** How long an address from which a right token came is not locked out. */
export const AUTH_TRUST_MS = 24 * 60 * 60 * 1_000;

/** The most addresses that are remembered; beyond it the one that failed longest ago is forgotten. */
const ADDRESSES_MAX = 10_000;

interface Failures {
  readonly count: number;
  readonly sinceMs: number;
}

/**
 * Counts failed authentications by caller address, so that nobody can try tokens fast. Memory is bounded. An address from
 * which a right token came lately is shared with those who try, such as a load balancer's: it is not locked out, or one
 * caller behind it could keep out everybody.
 */
export class FailureLimit {
  readonly #clock: Clock;
  // In order of the last failure.
  readonly #failures = new Map<string, Failures>();
  // Monotonic time of the last right token, in order of it.
  readonly #trusted = new Map<string, number>();
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds that an address must wait; 0 where it may try. */
  waitMs(address: string): number {
    const failures = this.#current(address);
    if (failures === undefined || failures.count < AUTH_FAILURES_MAX) return 0;
    return failures.sinceMs + AUTH_FAILURE_WINDOW_MS - this.#clock.monotonicMs();
  }

  /** Whether a right token came from the address lately. */
  isTrusted(address: string): boolean {
    const atMs = this.#trusted.get(address);
    return atMs !== undefined && this.#clock.monotonicMs() - atMs < AUTH_TRUST_MS;
  }

  /** Remembers that a right token came from the address. */
  trust(address: string): void {
    this.#trusted.delete(address);
    this.#trusted.set(address, this.#clock.monotonicMs());
    forgetOldest(this.#trusted);
  }

  /** Remembers one failure. */
  record(address: string): void {
    const failures = this.#current(address) ?? { count: 0, sinceMs: this.#clock.monotonicMs() };
    this.#failures.delete(address);
    this.#failures.set(address, { ...failures, count: failures.count + 1 });
    forgetOldest(this.#failures);
  }

  #current(address: string): Failures | undefined {
    const failures = this.#failures.get(address);
    return failures === undefined || this.#clock.monotonicMs() - failures.sinceMs >= AUTH_FAILURE_WINDOW_MS ? undefined : failures;
  }
}

function forgetOldest(addresses: Map<string, unknown>): void {
  const [oldest] = addresses.keys();
  if (addresses.size > ADDRESSES_MAX && oldest !== undefined) addresses.delete(oldest);
}
