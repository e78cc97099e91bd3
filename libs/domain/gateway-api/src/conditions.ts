/** A condition's truth. */
export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** A condition as objects carry it. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number | undefined;
  /** RFC 3339. */
  readonly lastTransitionTime: string;
}

/** A condition that we want: everything but its time, which moves only with the status. */
export interface ConditionDraft {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

/** What {@link mergeConditions} needs. */
export interface ConditionMerge {
  readonly present: readonly Condition[];
  readonly wanted: readonly ConditionDraft[];
  /** Types that are ours and go where they are not wanted; other types are somebody else's and stay as they are. */
  readonly owned: readonly string[];
  readonly nowMs: number;
}

/** The new list of conditions: present order kept, new ones appended, lastTransitionTime moved only where the status changed. */
export function mergeConditions({ present, wanted, owned, nowMs }: ConditionMerge): readonly Condition[] {
  const drafts = new Map(wanted.map((draft) => [draft.type, draft]));
  const kept = present.flatMap((condition) => {
    const draft = drafts.get(condition.type);
    if (draft !== undefined) return [timed(draft, condition, nowMs)];
    return owned.includes(condition.type) ? [] : [condition];
  });
  const keptTypes = new Set(kept.map(({ type }) => type));
  return [...kept, ...wanted.filter(({ type }) => !keptTypes.has(type)).map((draft) => timed(draft, undefined, nowMs))];
}

/** A time as Kubernetes writes it: RFC 3339 in whole seconds. */
const kubeTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** The condition of a type, where there is one. */
export const findCondition = (conditions: readonly Condition[], type: string): Condition | undefined =>
  conditions.find((condition) => condition.type === type);

function timed(draft: ConditionDraft, before: Condition | undefined, nowMs: number): Condition {
  const lastTransitionTime = before?.status === draft.status ? before.lastTransitionTime : kubeTime(nowMs);
  return { ...draft, lastTransitionTime };
}
