import type { Clock, HubLink, HubSync, SpokeIdentity, SyncCursor } from '#ports';

import type { Backoff } from '../backoff.js';
import type { Wake } from '../wake.js';

/** What the sync loop needs. */
export interface SyncLoopParts {
  readonly link: HubLink;
  readonly clock: Clock;
  readonly backoff: Backoff;
  /** Rung when the hub was seen alive. */
  readonly wake: Wake;
  readonly identity: () => SpokeIdentity;
  readonly waitMs: number;
  /** How soon to ask again for a full state while the last one was not complete. */
  readonly incompleteRetryMs: number;
  readonly cursor: () => SyncCursor | undefined;
  /** Whether the hub's last full state was complete. */
  readonly complete: () => boolean;
  readonly onAnswer: (answer: HubSync) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Follows the hub by long poll until `signal` aborts. */
export async function runSyncLoop(parts: SyncLoopParts, signal: AbortSignal): Promise<void> {
  let askedFullMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const isComplete = parts.cursor() !== undefined && parts.complete();
    const askFull = !isComplete && parts.clock.monotonicMs() - askedFullMs >= parts.incompleteRetryMs;
    if (askFull) askedFullMs = parts.clock.monotonicMs();
    const waitMs = isComplete ? parts.waitMs : Math.min(parts.waitMs, parts.incompleteRetryMs);
    try {
      const answer = await parts.link.sync(parts.identity(), askFull ? undefined : parts.cursor(), waitMs, signal);
      if (signal.aborted) return;
      parts.backoff.reset();
      parts.onAnswer(answer);
    } catch (error) {
      if (signal.aborted) return;
      parts.onFailure(error);
      await parts.wake.sleep(parts.clock, parts.backoff.nextMs(), signal);
    }
  }
}
