import { byKey, type ClusterId, type Freshness } from '#domain/fleet';

import { hasHerdGoneSilent, isCalm, silentCount } from './herd-silence.js';
import type { Heard, JudgeLimits, JudgeState } from './judge-state.js';

/** The limits that count unless configured. */
export const DEFAULT_JUDGE_LIMITS: JudgeLimits = { staleAfterMs: 300_000, silentAfterMs: 10_000, freezeWindowMs: 30_000, tickGapMaxMs: 5_000 };

/** How reasons of automatic freezes begin: the judge ends only its own. */
const AUTOMATIC_FREEZE = 'automatic:';

/** A member as the judge sees it. */
export interface JudgedMember {
  readonly clusterId: ClusterId;
  readonly freshness: Freshness;
  readonly lastReportAtMs: number | undefined;
}

/** What one look at the fleet shows. */
export interface JudgeInput {
  readonly nowMs: number;
  readonly isHubListening: boolean;
  readonly members: readonly JudgedMember[];
  readonly freeze: { readonly reason: string } | undefined;
  readonly limits: JudgeLimits;
}

/** What follows: judgements to write, and whether automation freezes or goes on. */
export interface JudgeOutcome {
  readonly state: JudgeState;
  readonly judgements: readonly JudgedMember[];
  readonly automation: { readonly kind: 'stay' } | { readonly kind: 'freeze'; readonly reason: string } | { readonly kind: 'resume' };
}

/**
 * Judges silence. A member that reports is fresh by that alone (the store sees to it); one that is silent for `staleAfterMs`
 * of listening becomes stale, unless automation is frozen because the hub suspects itself; so does one that never reports, or
 * does no more after a declared restore: others wait for its first list no longer. A new judge starts counting anew.
 */
export function judgeMembers(before: JudgeState | undefined, input: JudgeInput): JudgeOutcome {
  const state = listen(before, input);
  const isAutomatic = input.freeze?.reason.startsWith(AUTOMATIC_FREEZE) === true;
  const automation = judgeAutomation(state, input, isAutomatic);
  const suspectsItself = automation.kind === 'freeze' || (isAutomatic && automation.kind !== 'resume');
  return { state, automation, judgements: suspectsItself ? [] : staleMembers(state, input) };
}

function listen(before: JudgeState | undefined, input: JudgeInput): JudgeState {
  const elapsedMs = before === undefined ? 0 : Math.max(0, input.nowMs - before.judgedAtMs);
  const isGap = before === undefined || !input.isHubListening || elapsedMs > input.limits.tickGapMaxMs;
  const listenedMs = (before?.listenedMs ?? 0) + (isGap ? 0 : elapsedMs);
  const heard = new Map(input.members.map((member) => [member.clusterId, hear(before?.heard.get(member.clusterId), member, { input, listenedMs })]));
  const silent = silentCount([...heard.values()], listenedMs, input.limits);
  const calmSinceMs = silent * 2 <= heard.size ? (before?.calmSinceMs ?? listenedMs) : undefined;
  return { judgedAtMs: input.nowMs, listenedMs, heard, calmSinceMs };
}

function hear(before: Heard | undefined, member: JudgedMember, now: { readonly input: JudgeInput; readonly listenedMs: number }): Heard {
  const { lastReportAtMs } = member;
  const { listenedMs, input } = now;
  if (before === undefined) {
    // To a new judge an old silence is nothing that happened just now.
    const isTalking = lastReportAtMs !== undefined && input.nowMs - lastReportAtMs <= input.limits.silentAfterMs;
    return { lastReportAtMs, atMs: listenedMs, talkingSinceMs: isTalking ? listenedMs : Number.POSITIVE_INFINITY };
  }
  if (before.lastReportAtMs === lastReportAtMs) return before;
  const wasSilent = listenedMs - before.atMs > input.limits.silentAfterMs || before.talkingSinceMs > listenedMs;
  return { lastReportAtMs, atMs: listenedMs, talkingSinceMs: wasSilent ? listenedMs : before.talkingSinceMs };
}

function judgeAutomation(state: JudgeState, input: JudgeInput, isAutomatic: boolean): JudgeOutcome['automation'] {
  const heard = [...state.heard.values()];
  if (input.freeze === undefined && hasHerdGoneSilent(heard, state.listenedMs, input.limits)) {
    const silent = silentCount(heard, state.listenedMs, input.limits);
    return { kind: 'freeze', reason: `${AUTOMATIC_FREEZE} ${silent} of ${heard.length} members went silent within ${input.limits.freezeWindowMs / 1_000} s, so the fault may be the hub's own` };
  }
  return isAutomatic && isCalm(state, input.limits) ? { kind: 'resume' } : { kind: 'stay' };
}

function staleMembers(state: JudgeState, input: JudgeInput): readonly JudgedMember[] {
  return input.members
    .filter((member) => member.freshness !== 'stale' && state.listenedMs - (state.heard.get(member.clusterId)?.atMs ?? state.listenedMs) >= input.limits.staleAfterMs)
    .map((member) => ({ ...member, freshness: 'stale' as const }))
    .sort(byKey((member) => member.clusterId));
}
