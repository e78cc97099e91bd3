import type { BackendConflict, ImportedBackend, MemberBackend } from '#domain/fleet';

import { findCondition, mergeConditions, type Condition, type ConditionDraft } from './conditions.js';
import type { CompositeDecision } from './gateway-decisions.js';
import type { MemberCounts } from './objects.js';
import type { ProgrammedEvidence } from './programmed-evidence.js';
import { programmedConditions } from './programmed.js';
import { conditionOf, no, yes } from './verdict.js';

/** What a CompositeBackend's status says beyond its decision. */
export interface CompositeFacts {
  /** What the hub says of it; undefined where it says nothing. */
  readonly imported: ImportedBackend | undefined;
  /** What this cluster offers of it; undefined where there is no local part. */
  readonly localPart: MemberBackend | undefined;
  readonly evidence: ProgrammedEvidence | undefined;
  readonly nowMs: number;
}

/** A CompositeBackend's status. */
export interface CompositeStatus {
  readonly conditions: readonly Condition[];
  readonly members: MemberCounts;
}

const OWNED_TYPES = ['Accepted', 'ResolvedRefs', 'Programmed', 'PartiallyProgrammed', 'Conflict'];
const CONFLICT_REASONS: Readonly<Record<BackendConflict['field'], string>> = {
  trafficClass: 'TrafficClassConflict',
  workUnit: 'WorkUnitConflict',
  portProtocol: 'PortConflict',
  sessionAffinity: 'SessionAffinityConflict',
};

/** The complete status of a CompositeBackend. */
export function compositeStatus(decision: CompositeDecision, facts: CompositeFacts): CompositeStatus {
  const { composite, resolvedRefs } = decision;
  const { generation } = composite.meta;
  return {
    conditions: mergeConditions({
      present: composite.conditions,
      wanted: [
        acceptedCondition(facts, generation),
        conditionOf('ResolvedRefs', resolvedRefs, generation),
        ...programmed(decision, facts),
        conflictCondition(facts.imported?.conflicts ?? [], generation),
      ],
      owned: OWNED_TYPES,
      nowMs: facts.nowMs,
    }),
    members: memberCounts(facts),
  };
}

// Refused altogether: nobody but this cluster itself takes part here. Refused in part: the others still do.
function acceptedCondition({ imported, localPart }: CompositeFacts, generation: number): ConditionDraft {
  const refusals = imported?.refusals ?? [];
  if (imported === undefined || refusals.length === 0) return conditionOf('Accepted', yes('Accepted', 'The backend is accepted.'), generation);
  const hasRemote = imported.providers.length > (localPart === undefined ? 0 : 1);
  const text = refusals.join(' ');
  return conditionOf('Accepted', hasRemote ? yes('PartiallyRefused', text) : no('Refused', `${text} Local endpoints still answer local routes.`), generation);
}

function programmed({ composite, isUsed }: CompositeDecision, { evidence, nowMs }: CompositeFacts): readonly ConditionDraft[] {
  const { generation } = composite.meta;
  if (!isUsed) {
    return [{ type: 'Programmed', status: 'Unknown', reason: 'NotReferenced', message: 'No route of this cluster leads to it, so no node has anything to program.', observedGeneration: generation }];
  }
  const conditions = programmedConditions({ evidence, present: findCondition(composite.conditions, 'Programmed'), generation, nowMs });
  return conditions.partiallyProgrammed === undefined ? [conditions.programmed] : [conditions.programmed, conditions.partiallyProgrammed];
}

function conflictCondition(conflicts: readonly BackendConflict[], observedGeneration: number): ConditionDraft {
  if (conflicts.length === 0) return { type: 'Conflict', status: 'False', reason: 'NoConflicts', message: 'All parts agree.', observedGeneration };
  const reasons = [...new Set(conflicts.map(({ field }) => CONFLICT_REASONS[field]))].sort();
  return { type: 'Conflict', status: 'True', reason: reasons.join(','), message: conflicts.map(({ message }) => message).join(' '), observedGeneration };
}

// Without a word from the hub the cluster stands alone: it is every member there is.
function memberCounts({ imported, localPart }: CompositeFacts): MemberCounts {
  if (imported !== undefined) return { total: imported.memberCount, serving: imported.servingCount };
  if (localPart === undefined) return { total: 0, serving: 0 };
  return { total: 1, serving: localPart.endpoints.some(({ ready }) => ready) ? 1 : 0 };
}
