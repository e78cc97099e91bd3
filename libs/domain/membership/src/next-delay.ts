import { assertNever, type ErrorKind } from '#domain/fleet';

/** Bounds of the wait after an error that heals by itself. */
const TRANSIENT_DELAY = { firstMs: 1_000, maxMs: 60_000 } as const;

/** Wait after an error that a person must mend; a change to the member's registration ends it early. */
const USER_DELAY_MS = 300_000;

/**
 * When to try again after an error, for ever: doubling up to a cap for what heals by itself, five minutes for what a person
 * (or a release of ours) must mend. `attempts` counts earlier failures in a row; `random` is in 0..1 and spreads retries.
 */
export function nextDelayMs(kind: ErrorKind, attempts: number, random: number): number {
  switch (kind) {
    case 'transient': {
      const ceilingMs = Math.min(TRANSIENT_DELAY.maxMs, TRANSIENT_DELAY.firstMs * 2 ** Math.min(Math.max(attempts, 0) + 1, 16));
      return Math.max(TRANSIENT_DELAY.firstMs, Math.round(ceilingMs * (0.5 + random / 2)));
    }
    case 'user':
    case 'bug':
      return Math.round(USER_DELAY_MS * (0.9 + random / 10));
    default:
      return assertNever(kind);
  }
}
