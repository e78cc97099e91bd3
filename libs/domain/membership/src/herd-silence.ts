import type { Heard, JudgeLimits, JudgeState } from './judge-state.js';

/** The smallest number of members that count as a herd: fewer may well fail on their own. */
const HERD_MIN = 3;

/** How many members are silent now. */
export const silentCount = (heard: readonly Heard[], listenedMs: number, limits: JudgeLimits): number => heard.filter((entry) => !wasTalking(entry, listenedMs, limits)).length;

/** Whether at least three members, and more than half of those heard one window ago, have gone silent since. */
export function hasHerdGoneSilent(heard: readonly Heard[], listenedMs: number, limits: JudgeLimits): boolean {
  const then = heard.filter((entry) => wasTalking(entry, listenedMs - limits.freezeWindowMs, limits));
  const gone = silentCount(then, listenedMs, limits);
  return gone >= HERD_MIN && gone * 2 > then.length;
}

/** Whether at most half have been silent for one window. */
export const isCalm = (state: JudgeState, limits: JudgeLimits): boolean => state.calmSinceMs !== undefined && state.listenedMs - state.calmSinceMs >= limits.freezeWindowMs;

// A run of reports covers the time from its start until `silentAfterMs` after its last one.
const wasTalking = (entry: Heard, atMs: number, limits: JudgeLimits): boolean => entry.talkingSinceMs <= atMs && atMs <= entry.atMs + limits.silentAfterMs;
