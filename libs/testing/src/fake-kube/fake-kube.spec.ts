import { describe, expect, it } from '@jest/globals';

import type { KubeKind, KubeObject } from '#ports';

import { FakeClock } from '../fake-clock.js';
import { FakeKube } from './index.js';
import { kubeConformance } from './kube.conformance.js';

kubeConformance('FakeKube', async () => ({ kube: new FakeKube({ strict: true }), close: async () => undefined }));

const POD: KubeKind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
const NAMESPACE: KubeKind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
const pod = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, status: { phase: 'Running' } });
const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('FakeKube beyond the port', () => {
  it('seeds objects with their status, as kubelets do', async () => {
    const kube = new FakeKube();
    kube.seed(POD, pod('a'));
    expect(await kube.find(POD, { namespace: 'default', name: 'a' })).toMatchObject({ status: { phase: 'Running' } });
  });
  it('an absent server fails every call and tells its watches since when; its return tells what changed meanwhile', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.seed(POD, pod('a'));
    const events: string[] = [];
    kube.watch(POD, {}, {
      upsert: (object) => events.push(`upsert ${object.metadata.name}`),
      remove: (object) => events.push(`remove ${object.metadata.name}`),
      synced: () => events.push('synced'),
      connection: (sinceMs) => events.push(sinceMs === undefined ? 'back' : `lost ${sinceMs}`),
    });
    await settled();
    kube.goAway();
    await expect(kube.list(POD)).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE' });
    kube.seed(POD, pod('b'));
    await settled();
    kube.comeBack();
    await settled();
    expect(events).toEqual(['upsert a', 'synced', `lost ${clock.nowMs()}`, 'upsert b', 'back']);
  });
  it('a forbidden verb is refused and denied by access reviews', async () => {
    const kube = new FakeKube();
    kube.forbid('list', '', 'pods');
    await expect(kube.list(POD)).rejects.toMatchObject({ code: 'KUBE_FORBIDDEN' });
  });
  it('a deleted namespace takes its objects along, finalizers last', async () => {
    const kube = new FakeKube({ strict: true });
    await kube.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ai' } });
    const held = await kube.create(POD, { ...pod('held'), metadata: { name: 'held', namespace: 'ai', finalizers: ['x/y'] } });
    await kube.remove(NAMESPACE, { name: 'ai' });
    expect(await kube.find(NAMESPACE, { name: 'ai' })).toMatchObject({ status: { phase: 'Terminating' } });
    const read = await kube.find(POD, held.metadata);
    await kube.replace(POD, { ...read!, metadata: { ...read!.metadata, finalizers: [] } });
    expect(await kube.find(NAMESPACE, { name: 'ai' })).toBeUndefined();
  });
});
