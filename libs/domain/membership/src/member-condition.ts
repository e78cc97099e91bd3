import { byKey } from '#domain/fleet';

/** A judged fact about a member; `type` is an adjective or a state such as `ApiReachable`. */
export interface MemberCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** One CamelCase word. */
  readonly reason: string;
  /** A sentence that says what to do. */
  readonly message: string;
}

/** A condition with its times. */
export interface TimedCondition extends MemberCondition {
  readonly lastTransitionAtMs: number;
  readonly observedAtMs: number;
}

/** Makes a condition. */
export const condition = (type: string, status: MemberCondition['status'], reason: string, message: string): MemberCondition => ({ type, status, reason, message });

/** Puts times on judged conditions: a transition is a change of status, and is kept while the status stays. Sorted by type. */
export function stampConditions(judged: readonly MemberCondition[], before: readonly TimedCondition[], nowMs: number): readonly TimedCondition[] {
  return judged
    .map((entry) => {
      const previous = before.find((candidate) => candidate.type === entry.type);
      return { ...entry, lastTransitionAtMs: previous?.status === entry.status ? previous.lastTransitionAtMs : nowMs, observedAtMs: nowMs };
    })
    .sort(byKey((entry) => entry.type));
}
