import type { Logger } from '#platform';
import type { ChangeLog, Clock } from '#ports';

/** Entries of the change log that are kept: a spoke or replica that is further behind gets the full state. */
export const LOG_ENTRIES_KEPT = 50_000;

/** How often the log is shortened. */
export const LOG_PRUNE_INTERVAL_MS = 10 * 60_000;

/** Keeps the change log short for as long as the hub runs. Any replica may do so, at any time. */
export function pruneChangeLog({ changeLog, clock, logger }: { readonly changeLog: ChangeLog; readonly clock: Clock; readonly logger: Logger }): { stop(): Promise<void> } {
  const stop = new AbortController();
  const loop = (async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(LOG_PRUNE_INTERVAL_MS, stop.signal);
      if (stop.signal.aborted) return;
      // The next round tries again.
      await changeLog.prune(LOG_ENTRIES_KEPT).catch((error: unknown) => logger.warn({ err: error }, 'could not shorten the change log'));
    }
  })();
  return {
    stop: async () => {
      stop.abort();
      await loop;
    },
  };
}
