/** What one run of a key asks for: when to look again (`undefined`: only on request or resync). */
export interface KeyOutcome {
  readonly nextRunInMs: number | undefined;
}

/** How keys are worked on. */
export interface KeyProcessing {
  /**
   * Makes the world fit the key, from state alone: a key says which, never what happened. May throw: the error's kind sets
   * the next delay, and the key comes back for ever. Never runs twice at once for one key, in the whole fleet of workers.
   */
  reconcile(key: string): Promise<KeyOutcome>;
  /** Every key there is, for the resync. */
  resyncKeys(): Promise<readonly string[]>;
  readonly resyncEveryMs: number;
  /** Keys worked on at the same time by this process. */
  readonly concurrency: number;
  /** Hears of every failed run, for logs and metrics. */
  failed?(key: string, error: unknown, nextRunInMs: number): void;
}

/**
 * A queue of keys to reconcile. Asking is idempotent: while a key waits, further asks are one with it; an ask during its run
 * makes exactly one more run; an ask for a key that waits out a delay makes it run now. No key ever ends in failure.
 * Throws QUEUE_UNAVAILABLE (`transient`).
 */
export abstract class JobQueue {
  /** Asks for a run of this key, now. */
  abstract request(key: string): Promise<void>;
  /** Begins to work on keys; once per instance. A resync follows at once and then at its interval. */
  abstract process(processing: KeyProcessing): Promise<void>;
  /** Why the queue does not work at this moment, or undefined. */
  abstract unavailableReason(): string | undefined;
  /** Lets running keys finish and stops. */
  abstract close(): Promise<void>;
}
