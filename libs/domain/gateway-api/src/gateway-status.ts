import type { AddressAssignment } from '#domain/addresses';

import { findCondition, mergeConditions, type Condition, type ConditionDraft } from './conditions.js';
import type { GatewayDecision, ListenerDecision, Verdict } from './gateway-decisions.js';
import { CLUSTER_ROUTABILITY } from './names.js';
import type { GatewayStatus, ListenerStatus } from './objects.js';
import type { ProgrammedEvidence } from './programmed-evidence.js';
import { programmedConditions, type ProgrammedConditions } from './programmed.js';
import { conditionOf, no, yes } from './verdict.js';

/** What a Gateway's status says beyond its decision. */
export interface GatewayFacts {
  readonly assignment: AddressAssignment | undefined;
  readonly evidence: ProgrammedEvidence | undefined;
  /** Whether the installed definition of Gateways keeps an address's routability. */
  readonly keepsRoutability: boolean;
  readonly nowMs: number;
}

const GATEWAY_TYPES = ['Accepted', 'AddressesAssigned', 'Programmed', 'PartiallyProgrammed'];
const LISTENER_TYPES = ['Accepted', 'Conflicted', 'ResolvedRefs', 'Programmed'];

/** The complete status of a Gateway of ours. */
export function gatewayStatus(decision: GatewayDecision, facts: GatewayFacts): GatewayStatus {
  const { gateway, accepted } = decision;
  const held = accepted.ok ? (facts.assignment?.held ?? []) : [];
  const obstacle = accepted.ok ? addressObstacle(facts.assignment) : no('Invalid', accepted.message);
  const { generation } = gateway.meta;
  const { programmed, partiallyProgrammed } = programmedOr(obstacle, gateway.status.conditions, generation, facts);
  return {
    addresses: held.map((value) => ({ type: 'IPAddress', value, ...(facts.keepsRoutability ? { routability: CLUSTER_ROUTABILITY } : {}) })),
    conditions: mergeConditions({
      present: gateway.status.conditions,
      wanted: [conditionOf('Accepted', accepted, generation), conditionOf('AddressesAssigned', addressesAssigned(obstacle, held, facts.assignment), generation), programmed, ...(partiallyProgrammed === undefined ? [] : [partiallyProgrammed])],
      owned: GATEWAY_TYPES,
      nowMs: facts.nowMs,
    }),
    listeners: decision.listeners.map((listener) => listenerStatus(listener, decision, held.length > 0 ? undefined : obstacle, facts)),
  };
}

function programmedOr(obstacle: Verdict | undefined, present: readonly Condition[], generation: number, facts: GatewayFacts): ProgrammedConditions {
  if (obstacle !== undefined) return { programmed: conditionOf('Programmed', obstacle, generation), partiallyProgrammed: undefined };
  return programmedConditions({ evidence: facts.evidence, present: findCondition(present, 'Programmed'), generation, nowMs: facts.nowMs });
}

// An address that a person must do something about outweighs one that is on its way.
function addressObstacle(assignment: AddressAssignment | undefined): Verdict | undefined {
  const unmet = (assignment?.unmet ?? []).filter(({ isOptional }) => !isOptional);
  const unusable = unmet.filter(({ cause }) => cause !== 'pending' && cause !== 'exhausted');
  if (unusable.length > 0) return no('AddressNotUsable', unusable.map(({ message }) => message).join(' '));
  if (unmet.length > 0) return no('AddressNotAssigned', unmet.map(({ message }) => message).join(' '));
  return assignment === undefined || assignment.held.length === 0 ? no('AddressNotAssigned', 'No address is assigned yet.') : undefined;
}

// GEP-5093. What is held is served, though the Gateway as a whole does not count as Programmed before it has all it asked for.
function addressesAssigned(obstacle: Verdict | undefined, held: readonly string[], assignment: AddressAssignment | undefined): Verdict {
  if (obstacle !== undefined) return no(held.length > 0 ? 'PartiallyAssigned' : 'NotAssigned', obstacle.message);
  const missing = assignment?.unmet ?? [];
  if (missing.length > 0) return no('PartiallyAssigned', missing.map(({ message }) => message).join(' '));
  return yes('Assigned', `Every address is assigned: ${held.join(', ')}.`);
}

function listenerStatus(listener: ListenerDecision, { gateway, accepted }: GatewayDecision, obstacle: Verdict | undefined, facts: GatewayFacts): ListenerStatus {
  const { generation } = gateway.meta;
  const present = gateway.status.listeners.find(({ name }) => name === listener.name)?.conditions ?? [];
  const invalid = [listener.accepted, accepted].find(({ ok }) => !ok);
  const hindrance = invalid === undefined ? obstacle && no('Pending', obstacle.message) : no('Invalid', invalid.message);
  const { programmed } = programmedOr(hindrance, present, generation, facts);
  const conflicted: ConditionDraft = {
    ...conditionOf('Conflicted', listener.unconflicted, generation),
    status: listener.unconflicted.ok ? 'False' : 'True',
  };
  return {
    name: listener.name,
    attachedRoutes: listener.attachedRoutes,
    supportedKinds: listener.supportedKinds,
    conditions: mergeConditions({
      present,
      wanted: [conditionOf('Accepted', listener.accepted, generation), conflicted, conditionOf('ResolvedRefs', listener.resolvedRefs, generation), programmed],
      owned: LISTENER_TYPES,
      nowMs: facts.nowMs,
    }),
  };
}
