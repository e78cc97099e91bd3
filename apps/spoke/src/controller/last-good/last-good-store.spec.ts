import { randomBytes } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { backendName, clusterId, type ImportedBackend } from '#domain/fleet';
import { FakeKube } from '#testing';

import type { ImportState } from '../hub/import-state.js';
import { LastGoodStore } from './last-good-store.js';

const backend = (name: string, note = ''): ImportedBackend => ({
  name: backendName('ai', name),
  trafficClass: 'endpoints',
  sessionAffinity: 'ClientIP',
  providers: [{ clusterId: clusterId('west-1'), locality: { region: 'west', zone: 'a' }, path: 'gateway', endpoints: [{ address: '10.2.0.1', targetPorts: [8080, 0], ready: true, serving: true, terminating: false, zone: 'a', node: 'n1' }], ports: [{ port: 80, protocol: 'TCP' }, { port: 53, protocol: 'UDP' }], readyAssumed: 1 }],
  ports: [{ port: { port: 80, protocol: 'TCP' }, shares: [{ clusterId: clusterId('west-1'), shareBp: 10_000 }] }],
  conflicts: [{ field: 'workUnit', winner: clusterId('west-1'), losers: [clusterId('east-1')], message: 'units differ' }],
  refusals: note === '' ? [] : [note],
  memberCount: 2,
  servingCount: 1,
});
const stateOf = (backends: readonly ImportedBackend[]) => ({
  consumer: clusterId('east-1'),
  cursor: { epoch: 'e1', sequence: 9_007_199_254_740_993n, mark: 'm' },
  told: new Map(backends.map((one) => [`backend/${one.name}`, { version: 'v1', backend: one }])),
  paths: {
    intake: { openings: [{ gatewayPort: 20_000, backend: backendName('ai', 'model'), port: { port: 53, protocol: 'UDP' as const }, callers: [clusterId('west-1')] }], callers: [{ clusterId: clusterId('west-1'), addresses: ['192.0.2.1'] }] },
    peers: [{ clusterId: clusterId('west-1'), path: 'gateway' as const, addresses: ['198.51.100.1'], port: 9091 }],
  },
  complete: true,
  held: undefined,
  firstSeen: new Map([[backendName('ai', 'own'), { place: 1_850_000_000_000_000_123n, epoch: 'e0' }]]),
}) satisfies ImportState;
const names = async (kube: FakeKube): Promise<string[]> => (await kube.list(KUBE_KINDS.configMap)).map((object) => object.metadata.name);

describe('last good store', () => {
  it('gives back exactly what was saved', async () => {
    const kube = new FakeKube();
    const state = stateOf([backend('model'), backend('other')]);
    await new LastGoodStore(kube, 'spillway-system').save(state, 1);
    expect(await new LastGoodStore(kube, 'spillway-system').load()).toEqual(state);
  });
  it('has nothing before anything was saved', async () => {
    expect(await new LastGoodStore(new FakeKube(), 'spillway-system').load()).toBeUndefined();
  });
  it('keeps a state of many parts, and leaves no part of the previous one', async () => {
    const kube = new FakeKube();
    const store = new LastGoodStore(kube, 'spillway-system');
    const big = stateOf([backend('big', randomBytes(1_500_000).toString('base64'))]);
    await store.save(big, 1);
    expect(await names(kube)).toEqual(['spillway-last-good-0', 'spillway-last-good-1', 'spillway-last-good-2']);
    expect(await store.load()).toEqual(big);
    const small = stateOf([backend('small')]);
    await store.save(small, 2);
    expect(await names(kube)).toEqual(['spillway-last-good-0', 'spillway-last-good-101']);
    expect(await store.load()).toEqual(small);
  });
  it('writes nothing when nothing changed', async () => {
    const kube = new FakeKube();
    const store = new LastGoodStore(kube, 'spillway-system');
    await store.save(stateOf([backend('model')]), 1);
    const { revision } = kube;
    await store.save(stateOf([backend('model')]), 2);
    expect(kube.revision).toBe(revision);
  });
  it('a save that breaks off leaves the previous state whole', async () => {
    const kube = new FakeKube();
    const store = new LastGoodStore(kube, 'spillway-system');
    const first = stateOf([backend('first')]);
    await store.save(first, 1);
    const halfway = new (class extends FakeKube {})();
    for (const object of await kube.list(KUBE_KINDS.configMap)) halfway.seed(KUBE_KINDS.configMap, object);
    halfway.seed(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'spillway-system', name: 'spillway-last-good-101' }, binaryData: { 'state.gz': 'AAAA' } });
    expect(await new LastGoodStore(halfway, 'spillway-system').load()).toEqual(first);
  });
  it.each([
    { name: 'a part that was edited', break: (kube: FakeKube) => kube.seed(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'spillway-system', name: 'spillway-last-good-1' }, binaryData: { 'state.gz': 'AAAA' } }) },
    { name: 'a part that is missing', break: (kube: FakeKube) => kube.remove(KUBE_KINDS.configMap, { namespace: 'spillway-system', name: 'spillway-last-good-1' }) },
    { name: 'an index that does not read', break: (kube: FakeKube) => kube.seed(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'spillway-system', name: 'spillway-last-good-0' }, data: { 'index.json': '{' } }) },
  ])('$name is refused as a whole, and the next save heals it', async (damage) => {
    const kube = new FakeKube();
    const store = new LastGoodStore(kube, 'spillway-system');
    await store.save(stateOf([backend('model')]), 1);
    await damage.break(kube);
    await expect(store.load()).rejects.toMatchObject({ code: 'LAST_GOOD_CORRUPT' });
    const next = stateOf([backend('next')]);
    await store.save(next, 2);
    expect(await store.load()).toEqual(next);
  });
});
