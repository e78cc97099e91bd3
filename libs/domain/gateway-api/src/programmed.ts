import type { Condition, ConditionDraft } from './conditions.js';
import { EVIDENCE_TTL_MS, type NodeEvidence, type ProgrammedEvidence } from './programmed-evidence.js';

/** A rollout takes milliseconds; a node that lags for longer than this is worth a condition. */
export const LAG_GRACE_MS = 5_000;
const NODES_NAMED_MAX = 5;

/** What {@link programmedConditions} decides from. */
export interface ProgrammedInput {
  readonly evidence: ProgrammedEvidence | undefined;
  /** The Programmed condition as it stands. */
  readonly present: Condition | undefined;
  readonly generation: number;
  readonly nowMs: number;
}

/** Programmed, and PartiallyProgrammed where some nodes lag. */
export interface ProgrammedConditions {
  readonly programmed: ConditionDraft;
  readonly partiallyProgrammed: ConditionDraft | undefined;
}

/**
 * Programmed by the word of nodes alone (R9). True once every Ready node that runs the agent has acknowledged; nodes that
 * join later revoke nothing; while some lag, an earlier True stays with its old observedGeneration beside
 * PartiallyProgrammed; where no node has a fresh word for {@link EVIDENCE_TTL_MS}, False.
 */
export function programmedConditions(input: ProgrammedInput): ProgrammedConditions {
  const { evidence, generation } = input;
  if (evidence === undefined) return { programmed: draft('False', 'Nothing has been served to nodes yet.', generation), partiallyProgrammed: undefined };
  return judgeEvidence(evidence, input);
}

function judgeEvidence(evidence: ProgrammedEvidence, { present, generation, nowMs }: ProgrammedInput): ProgrammedConditions {
  const before = present?.status === 'True' ? present : undefined;
  const ageMs = nowMs - evidence.wantedSinceMs;
  const required = requiredNodes(evidence, before !== undefined);
  const lagging = required.filter(({ hasAcknowledged }) => !hasAcknowledged);
  if (!hasWitness(evidence, nowMs)) {
    const kept = before !== undefined && ageMs <= EVIDENCE_TTL_MS ? keep(before) : undefined;
    return { programmed: kept ?? draft('False', silenceText(evidence), generation), partiallyProgrammed: undefined };
  }
  if (lagging.length === 0) {
    return { programmed: draft('True', 'Every Ready node that runs the node agent has acknowledged.', generation), partiallyProgrammed: undefined };
  }
  const waiting = lagText(required, lagging);
  const isWorthTelling = ageMs > LAG_GRACE_MS || lagging.some(({ refusal }) => refusal !== undefined);
  return {
    programmed: before === undefined ? draft('False', waiting, generation) : keep(before),
    partiallyProgrammed: isWorthTelling ? partial(waiting, generation) : undefined,
  };
}

/** Whether any node has acknowledged and was heard of lately. */
const hasWitness = ({ nodes }: ProgrammedEvidence, nowMs: number): boolean =>
  nodes.some(({ hasAcknowledged, lastSeenAtMs }) => hasAcknowledged && nowMs - lastSeenAtMs <= EVIDENCE_TTL_MS);

const draft = (status: 'True' | 'False', message: string, observedGeneration: number): ConditionDraft => ({
  type: 'Programmed',
  status,
  reason: status === 'True' ? 'Programmed' : 'Pending',
  message,
  observedGeneration,
});

const partial = (message: string, observedGeneration: number): ConditionDraft => ({
  type: 'PartiallyProgrammed',
  status: 'True',
  reason: 'NodesLagging',
  message,
  observedGeneration,
});

function requiredNodes({ nodes, wantedSinceMs }: ProgrammedEvidence, wasProgrammed: boolean): readonly NodeEvidence[] {
  const early = wasProgrammed ? nodes.filter(({ joinedAtMs }) => joinedAtMs <= wantedSinceMs) : nodes;
  return early.length > 0 ? early : nodes;
}

const keep = ({ type, status, reason, message, observedGeneration }: Condition): ConditionDraft => ({
  type,
  status,
  reason,
  message,
  observedGeneration: observedGeneration ?? 0,
});

function silenceText({ nodes }: ProgrammedEvidence): string {
  if (nodes.length === 0) return 'No Ready node runs the node agent.';
  const refused = nodes.find(({ refusal }) => refusal !== undefined);
  if (refused !== undefined) return `No node has taken this over; node ${refused.node} refused it: ${refused.refusal ?? ''}`;
  return nodes.some(({ hasAcknowledged }) => hasAcknowledged)
    ? `The nodes that had acknowledged this have not been heard of for ${EVIDENCE_TTL_MS / 1000} s.`
    : 'No node has acknowledged this yet.';
}

function lagText(required: readonly NodeEvidence[], lagging: readonly NodeEvidence[]): string {
  const named = [...lagging]
    .sort((a, b) => (a.node < b.node ? -1 : 1))
    .slice(0, NODES_NAMED_MAX)
    .map(({ node, refusal }) => (refusal === undefined ? node : `${node} (refused: ${refusal})`));
  const more = lagging.length > NODES_NAMED_MAX ? ` and ${lagging.length - NODES_NAMED_MAX} more` : '';
  return `${required.length - lagging.length} of ${required.length} nodes have acknowledged; waiting for ${named.join(', ')}${more}.`;
}
