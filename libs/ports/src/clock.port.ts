/** The time of day and timers, so that no shell reads the wall clock by itself and tests can turn the hands. */
export abstract class Clock {
  /** Epoch milliseconds. */
  abstract nowMs(): number;
  /** Milliseconds of a clock that never jumps; only differences mean something. */
  abstract monotonicMs(): number;
  /** Resolves after a time, or at once when the signal aborts (it never rejects). */
  abstract sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
