import type { ConditionDraft } from './conditions.js';
import type { Verdict } from './gateway-decisions.js';

/** A yes. */
export const yes = (reason: string, message: string): Verdict => ({ ok: true, reason, message });
/** A no. */
export const no = (reason: string, message: string): Verdict => ({ ok: false, reason, message });

/** The condition that tells of a verdict. */
export const conditionOf = (type: string, verdict: Verdict, observedGeneration: number): ConditionDraft => ({
  type,
  status: verdict.ok ? 'True' : 'False',
  reason: verdict.reason,
  message: verdict.message,
  observedGeneration,
});
