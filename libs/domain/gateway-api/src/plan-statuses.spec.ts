import { describe, expect, it } from '@jest/globals';

import type { AddressAssignment, UnmetWish } from '#domain/addresses';
import { backendName, type ImportedBackend, type MemberBackend } from '#domain/fleet';
import { MODEL_BACKEND, aPart, sortObjects } from '#testing';

import { decideGateways, planStatuses, type Condition, type ProgrammedEvidence, type RouteParentStatus, type StatusInput, type StatusWrite } from './index.js';

type Json = Record<string, unknown>;

const NOW_MS = Date.parse('2026-11-30T10:00:00.5Z');
const ACKNOWLEDGED: ProgrammedEvidence = { wantedSinceMs: NOW_MS - 60_000, nodes: [{ node: 'n1', hasAcknowledged: true, lastSeenAtMs: NOW_MS, joinedAtMs: 0, refusal: undefined }] };
const held = (...addresses: string[]): AddressAssignment => ({ held: addresses, unmet: [] });
const KEY = 'ai/model';

const CLASS: Json = {
  kind: 'GatewayClass',
  metadata: { name: 'cluster-ip', generation: 1 },
  spec: { controllerName: 'spillway.dev/cluster-ip' },
};
const metadata = { namespace: 'ai', name: 'model', uid: 'u', resourceVersion: '7', generation: 2 };
const gateway = (status?: Json): Json => ({ kind: 'Gateway', metadata, spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'http', port: 80, protocol: 'TCP' }] }, ...(status === undefined ? {} : { status }) });
const route = (status?: Json, over: Json = {}): Json => ({
  kind: 'TCPRoute',
  metadata,
  spec: { parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'model' }], rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'CompositeBackend', name: 'model', port: 80 }] }], ...over },
  ...(status === undefined ? {} : { status }),
});
const composite = (status?: Json): Json => ({ kind: 'CompositeBackend', metadata, spec: { ports: [{ port: 80 }] }, ...(status === undefined ? {} : { status }) });
const selector = (): Json => ({ kind: 'EndpointSelector', metadata, spec: { selector: { matchLabels: { app: 'model' } } } });

const anInput = (over: Partial<StatusInput> = {}): StatusInput => ({
  assignments: new Map([[KEY, held('172.30.1.1')]]),
  gatewayEvidence: new Map([[KEY, ACKNOWLEDGED]]),
  compositeEvidence: new Map([[KEY, ACKNOWLEDGED]]),
  localParts: [],
  imports: undefined,
  keepsRoutability: false,
  nowMs: NOW_MS,
  ...over,
});
const statuses = (objects: readonly Json[], over: Partial<StatusInput> = {}): readonly StatusWrite[] => planStatuses(decideGateways(sortObjects([CLASS, ...objects]).gateway), anInput(over));
const statusOf = (writes: readonly StatusWrite[], kind: string): Json => (writes.find((write) => write.kind === kind)?.status ?? {});
const conditionsOf = (status: Json): Record<string, string> => Object.fromEntries((status['conditions'] as Condition[]).map(({ type, status: truth, reason }) => [type, `${truth} ${reason}`]));
const stored = (object: Json, writes: readonly StatusWrite[]): Json => ({ ...object, status: writes.find((write) => write.kind === object['kind'])?.status ?? object['status'] });

describe('writing statuses', () => {
  it('a status that is right already is not written again', () => {
    const objects = [CLASS, gateway(), route(), composite(), selector()];
    const first = planStatuses(decideGateways(sortObjects(objects).gateway), anInput());
    expect(first.map(({ kind }) => kind)).toEqual(['GatewayClass', 'Gateway', 'TCPRoute', 'CompositeBackend', 'EndpointSelector']);
    const settled = objects.map((object) => stored(object, first));
    expect(planStatuses(decideGateways(sortObjects(settled).gateway), anInput({ nowMs: NOW_MS + 60_000, gatewayEvidence: fresh(60_000), compositeEvidence: fresh(60_000) }))).toEqual([]);
  });

  const fresh = (laterMs: number): ReadonlyMap<string, ProgrammedEvidence> =>
    new Map([[KEY, { ...ACKNOWLEDGED, nodes: ACKNOWLEDGED.nodes.map((node) => ({ ...node, lastSeenAtMs: NOW_MS + laterMs })) }]]);

  it('every condition carries the generation it speaks of, and a time in whole seconds', () => {
    const status = statusOf(statuses([gateway()]), 'Gateway');
    expect((status['conditions'] as Condition[]).map(({ observedGeneration, lastTransitionTime }) => [observedGeneration, lastTransitionTime])).toEqual([
      [2, '2026-11-30T10:00:00Z'],
      [2, '2026-11-30T10:00:00Z'],
      [2, '2026-11-30T10:00:00Z'],
    ]);
  });

  it('the time of a condition moves with its status alone', () => {
    const before = { type: 'Accepted', status: 'True', reason: 'Old', message: 'old', observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' };
    const programmed = { ...before, type: 'Programmed', status: 'False' };
    const status = statusOf(statuses([gateway({ conditions: [before, programmed] })]), 'Gateway');
    expect((status['conditions'] as Condition[]).map(({ reason, lastTransitionTime }) => [reason, lastTransitionTime])).toEqual([
      ['Accepted', '2026-01-01T00:00:00Z'],
      ['Programmed', '2026-11-30T10:00:00Z'],
      ['Assigned', '2026-11-30T10:00:00Z'],
    ]);
  });

  it('conditions of types that are not ours stay, and ours that no longer hold go', () => {
    const theirs = { type: 'example.com/Scanned', status: 'True', reason: 'Clean', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const partial = { ...theirs, type: 'PartiallyProgrammed', reason: 'NodesLagging' };
    expect(conditionsOf(statusOf(statuses([gateway({ conditions: [theirs, partial] })]), 'Gateway'))).toEqual({
      'example.com/Scanned': 'True Clean',
      Accepted: 'True Accepted',
      AddressesAssigned: 'True Assigned',
      Programmed: 'True Programmed',
    });
  });

  it('the write names the very version that was read', () => {
    expect(statuses([gateway()]).find(({ kind }) => kind === 'Gateway')).toMatchObject({ namespace: 'ai', name: 'model', uid: 'u', resourceVersion: '7' });
  });
});

describe('a Gateway\'s addresses', () => {
  const unmet = (cause: UnmetWish['cause'], over: Partial<AddressAssignment> = {}, isOptional = false): AddressAssignment => ({ held: [], unmet: [{ value: 'x', cause, isOptional, message: 'Because.' }], ...over });

  it.each([
    { name: 'held and acknowledged', assignment: held('172.30.1.1'), want: ['172.30.1.1', 'True Assigned', 'True Programmed', 'True Programmed'] },
    { name: 'of both families', assignment: held('172.30.1.1', 'fd00:30::1'), want: ['172.30.1.1,fd00:30::1', 'True Assigned', 'True Programmed', 'True Programmed'] },
    { name: 'being reserved', assignment: unmet('pending'), want: ['', 'False NotAssigned', 'False AddressNotAssigned', 'False Pending'] },
    { name: 'exhausted', assignment: unmet('exhausted'), want: ['', 'False NotAssigned', 'False AddressNotAssigned', 'False Pending'] },
    { name: 'not usable', assignment: unmet('taken'), want: ['', 'False NotAssigned', 'False AddressNotUsable', 'False Pending'] },
    { name: 'of a scope that cannot be had (R8)', assignment: unmet('impossible'), want: ['', 'False NotAssigned', 'False AddressNotUsable', 'False Pending'] },
    { name: 'one usable and one not: it serves, and says what is wrong', assignment: unmet('taken', { held: ['172.30.1.1'] }), want: ['172.30.1.1', 'False PartiallyAssigned', 'False AddressNotUsable', 'True Programmed'] },
    { name: 'of one family while the other is full: it is Programmed, and says what it lacks', assignment: unmet('exhausted', { held: ['172.30.1.1'] }, true), want: ['172.30.1.1', 'False PartiallyAssigned', 'True Programmed', 'True Programmed'] },
  ])('$name', ({ assignment, want }) => {
    const status = statusOf(statuses([gateway()], { assignments: new Map([[KEY, assignment]]) }), 'Gateway');
    const [listener] = status['listeners'] as Json[];
    expect([(status['addresses'] as { value: string }[]).map(({ value }) => value).join(), conditionsOf(status)['AddressesAssigned'], conditionsOf(status)['Programmed'], conditionsOf(listener ?? {})['Programmed']]).toEqual(want);
  });

  it.each([
    { name: 'say that they reach the cluster alone where the installed definition keeps that (R8)', keepsRoutability: true, want: [{ type: 'IPAddress', value: '172.30.1.1', routability: 'Cluster' }] },
    { name: 'say nothing of it where the definition would prune it', keepsRoutability: false, want: [{ type: 'IPAddress', value: '172.30.1.1' }] },
  ])('$name', ({ keepsRoutability, want }) => {
    expect(statusOf(statuses([gateway()], { keepsRoutability }), 'Gateway')['addresses']).toEqual(want);
  });

  it('a Gateway without evidence is never Programmed (R9)', () => {
    expect(conditionsOf(statusOf(statuses([gateway()], { gatewayEvidence: new Map() }), 'Gateway'))['Programmed']).toBe('False Pending');
  });

  it('a new listener is not Programmed because an old one is', () => {
    const before: Condition = { type: 'Programmed', status: 'True', reason: 'Programmed', message: '', observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' };
    const rolling: ProgrammedEvidence = { wantedSinceMs: NOW_MS - 10, nodes: [{ node: 'n1', hasAcknowledged: false, lastSeenAtMs: NOW_MS, joinedAtMs: 0, refusal: undefined }] };
    const status = statusOf(statuses([gateway({ conditions: [before] })], { gatewayEvidence: new Map([[KEY, rolling]]) }), 'Gateway');
    expect([conditionsOf(status)['Programmed'], conditionsOf((status['listeners'] as Json[])[0] ?? {})['Programmed']]).toEqual(['True Programmed', 'False Pending']);
  });
});

describe('a route\'s parents (R14)', () => {
  const parentsOf = (objects: readonly Json[]): readonly RouteParentStatus[] => statusOf(statuses(objects), 'TCPRoute')['parents'] as RouteParentStatus[];
  const entry = (over: Json): Json => ({ parentRef: { name: 'model' }, controllerName: 'spillway.dev/cluster-ip', conditions: [], ...over });

  it('other controllers\' entries stay as they are, in their place', () => {
    const theirs = entry({ controllerName: 'example.com/mesh', unknownField: 1 });
    const parents = parentsOf([gateway(), composite(), route({ parents: [theirs] })]);
    expect(parents[0]).toEqual(theirs);
    expect(parents.map(({ controllerName }) => controllerName)).toEqual(['example.com/mesh', 'spillway.dev/cluster-ip']);
  });

  it('our entry is found again whether or not defaults are written out', () => {
    expect(parentsOf([gateway(), composite(), route({ parents: [entry({})] })])).toHaveLength(1);
  });

  it('our entry for a parent that the route left goes', () => {
    const parents = parentsOf([gateway(), composite(), route({ parents: [entry({ parentRef: { name: 'gone' } })] })]);
    expect(parents.map(({ parentRef }) => parentRef.name)).toEqual(['model']);
  });

  it('our last entry goes with the Gateway', () => {
    expect(parentsOf([route({ parents: [entry({})] })])).toEqual([]);
  });

  it('a route of other controllers alone is not written', () => {
    expect(statuses([route({ parents: [entry({ controllerName: 'example.com/mesh' })] })]).filter(({ kind }) => kind === 'TCPRoute')).toEqual([]);
  });
});

describe('a CompositeBackend\'s status', () => {
  const imported = (over: Partial<ImportedBackend> = {}): ImportedBackend => ({ name: MODEL_BACKEND, trafficClass: 'endpoints', sessionAffinity: 'None', providers: [], ports: [], conflicts: [], refusals: [], memberCount: 3, servingCount: 2, ...over });
  const of = (over: Partial<StatusInput>, objects: readonly Json[] = [gateway(), route(), composite()]): Json => statusOf(statuses(objects, over), 'CompositeBackend');
  const local: MemberBackend = aPart('east-1', 1, 1).backend;

  it('counts the members that the hub names', () => {
    expect(of({ imports: { backends: [imported()] } })['members']).toEqual({ total: 3, serving: 2 });
  });

  it.each([
    { name: 'itself and serving', localParts: [local], want: { total: 1, serving: 1 } },
    { name: 'itself and idle', localParts: [{ ...local, endpoints: [] }], want: { total: 1, serving: 0 } },
    { name: 'nobody', localParts: [], want: { total: 0, serving: 0 } },
    { name: 'nobody, where another backend is local', localParts: [{ ...local, name: backendName('ai', 'other') }], want: { total: 0, serving: 0 } },
  ])('counts without a hub: $name', ({ localParts, want }) => {
    expect(of({ localParts })['members']).toEqual(want);
  });

  it('a conflict names its fields and stays a fact beside Accepted (R40)', () => {
    const conflict = { winner: local.name as never, losers: [], message: 'They differ.' };
    const status = of({ imports: { backends: [imported({ conflicts: [{ ...conflict, field: 'workUnit' }, { ...conflict, field: 'portProtocol' }] })] } });
    expect(conditionsOf(status)).toMatchObject({ Accepted: 'True Accepted', Conflict: 'True PortConflict,WorkUnitConflict' });
  });

  it('a refusal carries the policy\'s sentence: in part while others still take part, else altogether', () => {
    const provider = { clusterId: 'west-1' as never, locality: { region: '', zone: '' }, path: 'direct' as const, endpoints: [], ports: [], readyAssumed: 0 };
    expect(conditionsOf(of({ imports: { backends: [imported({ refusals: ['No policy.'] })] } }))['Accepted']).toBe('False Refused');
    expect(conditionsOf(of({ imports: { backends: [imported({ refusals: ['No path.'], providers: [provider] })] } }))['Accepted']).toBe('True PartiallyRefused');
  });

  it('one that no route leads to is not called Programmed', () => {
    expect(conditionsOf(of({}, [gateway(), composite()]))['Programmed']).toBe('Unknown NotReferenced');
  });
});
