import type { Clock } from '#ports';

/** How many requests a stream may make: so many a second in the long run, and so many at once. */
export interface RequestPaceLimits {
  readonly requestsPerSecond: number;
  readonly requestsAtOnce: number;
}

/** Names that cost as much as one request. */
const NAMES_PER_REQUEST = 100;

/** Tells how long a client that asks faster than its limits must not be read from. */
export class RequestPace {
  readonly #limits: RequestPaceLimits;
  readonly #clock: Clock;
  #left: number;
  #atMs: number;

  constructor(limits: RequestPaceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#left = limits.requestsAtOnce;
    this.#atMs = clock.monotonicMs();
  }

  /** Takes note of a request that names so many resources, and returns how long to wait before the next is read. */
  waitMs(nameCount: number): number {
    const { requestsPerSecond, requestsAtOnce } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(requestsAtOnce, this.#left + ((nowMs - this.#atMs) / 1_000) * requestsPerSecond) - 1 - nameCount / NAMES_PER_REQUEST;
    this.#atMs = nowMs;
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left / requestsPerSecond) * 1_000);
  }
}
