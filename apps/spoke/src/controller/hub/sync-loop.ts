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
  /** How soon to ask for a full state again while one that is complete is needed; doubles up to {@link FULL_RETRY_MS_MAX}. */
  readonly incompleteRetryMs: number;
  readonly cursor: () => SyncCursor | undefined;
  /** Whether only a complete full state can settle what is held from before. */
  readonly needsFull: () => boolean;
  readonly onAnswer: (answer: HubSync) => void;
  readonly onFailure: (error: unknown) => void;
}

/** The longest time between two full states that are asked for: a member that never joins must not cost the hub more. */
const FULL_RETRY_MS_MAX = 60_000;

/** Follows the hub by long poll until `signal` aborts. */
export async function runSyncLoop(parts: SyncLoopParts, signal: AbortSignal): Promise<void> {
  const full = { retryMs: parts.incompleteRetryMs, dueMs: 0 };
  while (!signal.aborted) {
    const { cursor, waitMs } = nextAsk(parts, full);
    try {
      const answer = await parts.link.sync(parts.identity(), cursor, waitMs, signal);
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

function nextAsk(parts: SyncLoopParts, full: { retryMs: number; dueMs: number }): { readonly cursor: SyncCursor | undefined; readonly waitMs: number } {
  const nowMs = parts.clock.monotonicMs();
  if (!parts.needsFull()) {
    full.retryMs = parts.incompleteRetryMs;
    full.dueMs = nowMs + full.retryMs;
    return { cursor: parts.cursor(), waitMs: parts.waitMs };
  }
  if (nowMs < full.dueMs) return { cursor: parts.cursor(), waitMs: Math.min(parts.waitMs, full.dueMs - nowMs) };
  full.retryMs = Math.min(full.retryMs * 2, FULL_RETRY_MS_MAX);
  full.dueMs = nowMs + full.retryMs;
  return { cursor: undefined, waitMs: parts.waitMs };
}
