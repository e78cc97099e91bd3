import type { ClusterId } from '#domain/fleet';

/** Times of the judge, all in milliseconds. */
export interface JudgeLimits {
  /** Silence after which a member's endpoints go. */
  readonly staleAfterMs: number;
  /** Silence after which a member counts as silent for the freeze rule: two of the longest report intervals. */
  readonly silentAfterMs: number;
  /** Window of the freeze rule, and how long calm must last before it ends. */
  readonly freezeWindowMs: number;
  /** Longest time between two judgements that counts as listening. */
  readonly tickGapMaxMs: number;
}

/** When a member was last heard, on the listening clock. */
export interface Heard {
  readonly lastReportAtMs: number | undefined;
  readonly atMs: number;
  /** Since when it has been heard without a silence. */
  readonly talkingSinceMs: number;
}

/**
 * What a judge remembers between judgements. Its clock only runs while somebody listens: time in which no judge ran or no
 * hub was there to take reports makes nobody silent.
 */
export interface JudgeState {
  readonly judgedAtMs: number;
  readonly listenedMs: number;
  readonly heard: ReadonlyMap<ClusterId, Heard>;
  /** Since when at most half are silent, on the listening clock; undefined while more are. */
  readonly calmSinceMs: number | undefined;
}
