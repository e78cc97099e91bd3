/** Where the link to the hub stands. */
export type HubPhase = 'no-join-token' | 'enrolling' | 'linked' | 'away' | 'unknown-member' | 'refused';

/** What the link shows of itself to metrics, readiness and people. */
export interface HubStatus {
  readonly phase: HubPhase;
  /** A sentence: what is the matter, and what to do; empty where nothing is. */
  readonly message: string;
  readonly lastReportMs: number | undefined;
  readonly lastSyncMs: number | undefined;
  readonly clockOffsetMs: number | undefined;
  /** Since when the key that signs for this cluster is in use, epoch ms. */
  readonly keySinceMs: number | undefined;
}

/** A clock offset from here on is worth a warning. */
export const CLOCK_SKEW_WARN_MS = 5_000;
