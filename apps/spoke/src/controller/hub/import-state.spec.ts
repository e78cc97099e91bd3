import { describe, expect, it } from '@jest/globals';

import { backendName, clusterId, type GatewayCaller, type GatewayOpening, type ImportedBackend, type ImportedProvider, type MemberPaths, type PathPeer } from '#domain/fleet';
import type { HubSync } from '#ports';

import { applySync, effectiveImports, effectivePaths, NO_IMPORTS, releaseHeld, restartableState, type ImportState } from './import-state.js';

const port = { port: 80, protocol: 'TCP' } as const;
const provider = (id: string, address: string): ImportedProvider => ({
  clusterId: clusterId(id),
  locality: { region: id, zone: '' },
  path: 'direct',
  endpoints: [{ address, targetPorts: [8080], ready: true, serving: true, terminating: false, zone: '', node: '' }],
  ports: [port],
  readyAssumed: 1,
});
const backend = (name: string, providers: readonly ImportedProvider[]): ImportedBackend => ({
  name: backendName('ai', name),
  trafficClass: 'endpoints',
  sessionAffinity: 'None',
  providers,
  ports: [{ port, shares: providers.map((one) => ({ clusterId: one.clusterId, shareBp: 10_000 / providers.length })) }],
  conflicts: [],
  refusals: [],
  memberCount: providers.length,
  servingCount: providers.length,
});
const full = (epoch: string, backends: readonly ImportedBackend[], complete = true): HubSync => ({
  cursor: { epoch, sequence: 7n, mark: 'm7' },
  full: true,
  complete,
  changed: backends.map((one) => ({ name: `backend/${one.name}`, version: 'v', backend: one })),
  removed: [],
  caBundlePem: undefined,
});
const delta = (epoch: string, changed: readonly ImportedBackend[], removed: readonly string[] = []): HubSync => ({ ...full(epoch, changed), cursor: { epoch, sequence: 8n, mark: 'm8' }, full: false, complete: false, removed: removed.map((name) => `backend/ai/${name}`) });
const fold = (syncs: readonly HubSync[], from: ImportState = NO_IMPORTS): ImportState => syncs.reduce((state, sync) => applySync(state, sync, { consumer: clusterId('east-1'), nowMs: 1_000, graceMs: 500 }), from);
const summary = (state: ImportState): string[] => effectiveImports(state).backends.map((one) => `${one.name} ${one.providers.map((p) => `${p.clusterId}@${p.endpoints[0]?.address}`).join(' ')} ${one.ports[0]?.shares.map((share) => share.shareBp).join('/')}`);

const east = provider('east-1', '10.1.0.1');
const west = provider('west-1', '10.2.0.1');
const known = fold([full('e1', [backend('model', [east, west]), backend('other', [west])])]);

const withPlace = (sync: HubSync, firstSeen: bigint): HubSync => ({ ...sync, changed: sync.changed.map((one) => ({ ...one, firstSeen })) });
const placesOf = (state: ImportState): unknown => [...state.firstSeen].map(([name, { place, epoch }]) => `${name} ${place} ${epoch}`);

describe('places in the first-seen order', () => {
  const model = full('e1', [backend('model', [east])]);
  it.each([
    { name: 'are kept as they were told', syncs: [withPlace(model, 7n)], want: ['ai/model 7 e1'] },
    { name: 'stay over an empty hub that has heard nothing of us yet', syncs: [withPlace(model, 7n), full('e2', [])], want: ['ai/model 7 e1'] },
    { name: 'stay while a new hub tells of the backend, but not yet of our part', syncs: [withPlace(model, 7n), full('e2', []), delta('e2', [backend('model', [west])]), delta('e2', [], ['model'])], want: ['ai/model 7 e1'] },
    { name: 'are what a new hub says once it does', syncs: [withPlace(model, 7n), full('e2', []), withPlace(delta('e2', [backend('model', [east])]), 9n)], want: ['ai/model 9 e2'] },
    { name: 'go when the hub that gave them says that our part is gone', syncs: [withPlace(model, 7n), delta('e1', [backend('model', [west])])], want: [] },
    { name: 'go when the hub that gave them takes the backend back', syncs: [withPlace(model, 7n), delta('e1', [], ['model'])], want: [] },
    { name: 'go when the hub that gave them tells everything without it', syncs: [withPlace(model, 7n), full('e1', [], false)], want: [] },
    { name: 'stay where nothing is said of them', syncs: [withPlace(model, 7n), delta('e1', [backend('other', [west])], ['more'])], want: ['ai/model 7 e1'] },
  ])('$name', ({ syncs, want }) => {
    expect(placesOf(fold(syncs))).toEqual(want);
    expect(placesOf(restartableState(fold(syncs)))).toEqual(want);
  });
  it('the same word again makes no new state to save', () => {
    const state = fold([withPlace(model, 7n)]);
    expect(fold([withPlace(model, 7n), delta('e1', [], [])], state).firstSeen).toBe(state.firstSeen);
  });
});

describe('import state', () => {
  it('a complete full state of the same epoch is everything', () => {
    expect(summary(fold([full('e1', [backend('model', [east])])], known))).toEqual(['ai/model east-1@10.1.0.1 10000']);
  });
  it('a delta changes what it names and removes what it says', () => {
    expect(summary(fold([delta('e1', [backend('new', [east])], ['other'])], known))).toEqual(['ai/model east-1@10.1.0.1 west-1@10.2.0.1 5000/5000', 'ai/new east-1@10.1.0.1 10000']);
  });
  it('an incomplete full state removes nothing, for however long', () => {
    const state = fold([full('e1', [], false)], known);
    expect(summary(releaseHeld(state, 10_000_000))).toEqual(summary(known));
    expect(state.complete).toBe(false);
  });
  it('a complete full state of a new epoch takes nothing away at once, and everything after the grace', () => {
    const state = fold([full('e2', [])], known);
    expect(summary(state)).toEqual(summary(known));
    expect(summary(releaseHeld(state, 1_499))).toEqual(summary(known));
    expect(summary(releaseHeld(state, 1_500))).toEqual([]);
  });
  it('while a new epoch lacks a provider, the older split stays over the newest endpoints', () => {
    const moved = provider('east-1', '10.1.0.99');
    expect(summary(fold([full('e2', [backend('model', [moved]), backend('other', [west])])], known))[0]).toBe('ai/model east-1@10.1.0.99 west-1@10.2.0.1 5000/5000');
  });
  it('a new epoch that knows every provider is in force at once, and brings news at once', () => {
    const north = provider('north-1', '10.3.0.1');
    const state = fold([full('e2', [backend('model', [east, north, west]), backend('third', [north])])], known);
    expect(summary(state)[0]).toContain('north-1');
    expect(summary(state)).toContain('ai/third north-1@10.3.0.1 10000');
    expect(summary(state)).toContain('ai/other west-1@10.2.0.1 10000');
  });
  it('what a new epoch named and then took back goes at once', () => {
    const renamed = fold([full('e2', [backend('model', [east, west]), backend('other', [west])]), delta('e2', [backend('model', [east])], ['other'])], known);
    expect(summary(renamed)).toEqual(['ai/model east-1@10.1.0.1 10000']);
  });
  it('the grace is counted from the first complete state, not from each one', () => {
    const once = fold([full('e2', [])], known);
    const twice = applySync(once, full('e2', []), { consumer: clusterId('east-1'), nowMs: 1_400, graceMs: 500 });
    expect(summary(releaseHeld(twice, 1_500))).toEqual([]);
  });
  it('an incomplete full state of the same epoch removes nothing; a later delta that names it does', () => {
    const state = fold([full('e1', [backend('model', [east, west])], false)], known);
    expect(summary(state)).toEqual(summary(known));
    expect(summary(fold([full('e1', [backend('model', [east, west])])], state)).length).toBe(2);
    expect(summary(releaseHeld(fold([full('e1', [backend('model', [east, west])])], state), 1_500)).length).toBe(1);
  });
  it('what a complete state of the same epoch no longer names goes at once, whatever is still held from before', () => {
    const renewed = fold([full('e2', [backend('model', [east, west]), backend('brief', [west])]), full('e2', [backend('model', [east, west])])], known);
    expect(summary(renewed).map((line) => line.split(' ')[0])).toEqual(['ai/model', 'ai/other']);
  });
  it('a state with something open starts again as all that is in force, and asks for everything', () => {
    const open = fold([full('e2', [])], known);
    const again = restartableState(open);
    expect(again).toMatchObject({ cursor: undefined, held: undefined });
    expect(summary(again)).toEqual(summary(open));
    expect(summary(fold([full('e2', [])], again))).toEqual(summary(open));
  });
  it('a first full state stands alone', () => {
    expect(fold([full('e1', [backend('model', [east])])])).toMatchObject({ complete: true, held: undefined });
  });
});

describe('the ways to and from others', () => {
  const opening = (gatewayPort: number, name: string, ...callers: string[]): GatewayOpening => ({ gatewayPort, backend: backendName('ai', name), port, callers: callers.map(clusterId) });
  const caller = (id: string, address: string): GatewayCaller => ({ clusterId: clusterId(id), addresses: [address] });
  const peer = (id: string): PathPeer => ({ clusterId: clusterId(id), path: 'gateway', addresses: ['198.51.100.1'], port: 9091 });
  const paths = (openings: readonly GatewayOpening[], callers: readonly GatewayCaller[], peers: readonly PathPeer[] = []): MemberPaths => ({ intake: { openings, callers }, peers });
  const withPaths = (sync: HubSync, told: MemberPaths): HubSync => ({ ...sync, paths: { version: 'p', paths: told } });
  const open = (state: ImportState): string[] => (effectivePaths(state)?.intake.openings ?? []).map(({ gatewayPort, backend: name, callers }) => `${gatewayPort} ${name} ${callers.join(' ')}`);

  const first = paths([opening(20_000, 'model', 'west-1'), opening(20_001, 'other', 'north-1', 'west-1')], [caller('north-1', '192.0.2.3'), caller('west-1', '192.0.2.2')], [peer('north-1'), peer('west-1')]);
  const before = fold([withPaths(full('e1', []), first)]);

  it('are what the hub says, and stay while it does not speak of them', () => {
    expect(effectivePaths(before)).toEqual(first);
    expect(effectivePaths(fold([delta('e1', [backend('model', [east])])], before))).toBe(first);
    const less = paths([opening(20_000, 'model', 'west-1')], [caller('west-1', '192.0.2.9')]);
    expect(effectivePaths(fold([withPaths(delta('e1', []), less)], before))).toBe(less);
  });

  it('stay open in a new epoch that does not know of them, until the grace is over', () => {
    const state = fold([withPaths(full('e2', []), paths([], []))], before);
    expect(open(state)).toEqual(['20000 ai/model west-1', '20001 ai/other north-1 west-1']);
    expect(effectivePaths(state)?.peers.map(({ clusterId: id }) => id)).toEqual(['north-1', 'west-1']);
    expect(open(releaseHeld(state, 1_500))).toEqual([]);
  });

  it('are joined with those of a new epoch: callers of either word are let in, of two addresses the newer counts', () => {
    const state = fold([withPaths(full('e2', []), paths([opening(20_001, 'other', 'south-1')], [caller('north-1', '192.0.2.77'), caller('south-1', '192.0.2.4')]))], before);
    expect(open(state)).toEqual(['20000 ai/model west-1', '20001 ai/other north-1 south-1 west-1']);
    expect(effectivePaths(state)?.intake.callers).toEqual([caller('north-1', '192.0.2.77'), caller('south-1', '192.0.2.4'), caller('west-1', '192.0.2.2')]);
  });

  it('of one gateway port that two words lead to different backends, the newer counts', () => {
    expect(open(fold([withPaths(full('e2', []), paths([opening(20_000, 'third', 'west-1')], [caller('west-1', '192.0.2.2')]))], before))).toEqual(['20000 ai/third west-1', '20001 ai/other north-1 west-1']);
  });

  it('hold nothing back where the new epoch knows all of them', () => {
    const more = paths([...first.intake.openings, opening(20_002, 'third', 'west-1')], first.intake.callers, first.peers);
    expect(fold([withPaths(full('e2', []), more)], before)).toMatchObject({ held: undefined, paths: more });
  });

  it('who was named by the new epoch and then taken back is out at once', () => {
    const named = fold([withPaths(full('e2', [], false), first), withPaths(delta('e2', []), paths([opening(20_001, 'other', 'north-1')], [caller('north-1', '192.0.2.3')], [peer('north-1')]))], fold([withPaths(full('e1', [backend('model', [west])]), first)]));
    expect(named.held).toBeDefined();
    expect(open(named)).toEqual(['20001 ai/other north-1']);
    expect(effectivePaths(named)?.peers.map(({ clusterId: id }) => id)).toEqual(['north-1']);
  });

  it('start again as all that is in force', () => {
    const state = restartableState(fold([withPaths(full('e2', []), paths([], []))], before));
    expect(open(state)).toEqual(['20000 ai/model west-1', '20001 ai/other north-1 west-1']);
  });
});
