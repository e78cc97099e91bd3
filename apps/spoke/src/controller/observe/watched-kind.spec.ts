import { describe, expect, it } from '@jest/globals';

import { KUBE_KINDS, parseEndpointSelector, parsePod, parseTcpRoute } from '#contracts/kube-objects';
import { FleetError } from '#domain/fleet';
import { FakeClock, FakeKube, FakeRandom, settle, until } from '#testing';

import { WatchedKind, type WatchedKindContext } from './watched-kind.js';

const podObject = (name: string, ready: boolean, noise = '') => ({
  apiVersion: 'v1', kind: 'Pod',
  metadata: { namespace: 'ai', name, labels: { app: 'model' }, annotations: { noise } },
  spec: { nodeName: 'n1', containers: [{ name: 'c', ports: [] }] },
  status: { phase: 'Running', podIP: '10.1.0.1', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

function context(kube: FakeKube, clock: FakeClock) {
  const seen = { changes: 0, unreadable: [] as string[] };
  return { seen, parts: { kube, clock, random: new FakeRandom(1), onChange: () => (seen.changes += 1), onUnreadable: (problem: { code: string }) => seen.unreadable.push(problem.code), onWatchFailed: () => undefined } };
}

describe('watched kind', () => {
  it('is complete only after its first list, and follows from there', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.seed(KUBE_KINDS.pod, podObject('a', true));
    kube.goAway();
    const { parts } = context(kube, clock);
    const pods = new WatchedKind({ kind: KUBE_KINDS.pod, parse: parsePod }, parts);
    pods.start();
    await settle();
    expect(pods.state).toBe('listing');
    expect(pods.lostSinceMs).toBeDefined();
    kube.comeBack();
    await until('complete', () => pods.state === 'complete');
    expect(pods.values().map((pod) => pod.name)).toEqual(['a']);
    kube.seed(KUBE_KINDS.pod, podObject('b', false));
    await until('b is seen', () => pods.get('ai', 'b') !== undefined);
    await kube.remove(KUBE_KINDS.pod, { namespace: 'ai', name: 'a' });
    await until('a is gone', () => pods.size === 1);
    pods.stop();
  });
  it('an update that changes nothing that plans read is no change', async () => {
    const kube = new FakeKube();
    kube.seed(KUBE_KINDS.pod, podObject('a', true));
    const { parts, seen } = context(kube, new FakeClock());
    const pods = new WatchedKind({ kind: KUBE_KINDS.pod, parse: parsePod }, parts);
    pods.start();
    await until('complete', () => pods.state === 'complete');
    const [before, changes] = [pods.values(), seen.changes];
    kube.seed(KUBE_KINDS.pod, podObject('a', true, 'an annotation'));
    await settle();
    expect(pods.values()).toBe(before);
    expect(seen.changes).toBe(changes);
    kube.seed(KUBE_KINDS.pod, podObject('a', false));
    await until('readiness is seen', () => pods.get('ai', 'a')?.isReady === false);
    pods.stop();
  });
  it('a kind that is not served is missing, and is followed as soon as it is', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock, strict: true });
    const { parts } = context(kube, clock);
    const selectors = new WatchedKind({ kind: KUBE_KINDS.endpointSelector, parse: parseEndpointSelector, optional: 'wanted' }, parts);
    selectors.start();
    await until('missing', () => selectors.state === 'missing');
    await kube.create(KUBE_KINDS.customResourceDefinition, { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'endpointselectors.spillway.dev' }, spec: { group: 'spillway.dev', scope: 'Namespaced', names: { plural: 'endpointselectors', kind: 'EndpointSelector' }, versions: [{ name: 'v1alpha1', served: true, storage: true }] } });
    await until('complete', () => selectors.state === 'complete', clock, 1_000);
    selectors.stop();
  });
  const tcpRoutes = (versions: readonly string[]) => ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'tcproutes.gateway.networking.k8s.io' }, spec: { group: 'gateway.networking.k8s.io', scope: 'Namespaced', names: { plural: 'tcproutes', kind: 'TCPRoute' }, versions: versions.map((name, at) => ({ name, served: true, storage: at === 0 })) } });
  const aRoute = (name: string) => ({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'TCPRoute', metadata: { namespace: 'ai', name }, spec: { parentRefs: [], rules: [] } });
  const routesOf = (parts: WatchedKindContext) => new WatchedKind({ kind: KUBE_KINDS.tcpRoute, olderVersions: ['v1alpha2'], parse: parseTcpRoute, optional: 'wanted' }, parts);

  it.each([
    { name: 'the newest that is served', versions: ['v1', 'v1alpha2'], want: 'v1' },
    { name: 'an older one where no newer is', versions: ['v1alpha2'], want: 'v1alpha2' },
  ])('of several versions it follows $name', async ({ versions, want }) => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock, strict: true });
    await kube.create(KUBE_KINDS.customResourceDefinition, tcpRoutes(versions));
    const routes = routesOf(context(kube, clock).parts);
    routes.start();
    await until('complete', () => routes.state === 'complete');
    expect(routes.served.version).toBe(want);
    routes.stop();
  });
  it('when the version that it follows is no longer served it goes on with the other, and forgets what went meanwhile', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const { parts, seen } = context(kube, clock);
    const older = { ...KUBE_KINDS.tcpRoute, version: 'v1alpha2' };
    kube.seed(KUBE_KINDS.tcpRoute, aRoute('stays'));
    const served = new Set(['v1alpha2']);
    const list = kube.list.bind(kube);
    const failing: ((error: Error) => void)[] = [];
    const watch = kube.watch.bind(kube);
    kube.list = async (kind, selection) => (served.has(kind.version) ? list(KUBE_KINDS.tcpRoute, selection) : Promise.reject(new FleetError('KUBE_NOT_FOUND', 'user', 'not served')));
    kube.watch = (kind, selection, handler) => {
      if (kind.version === older.version) {
        handler.upsert(aRoute('stays'));
        handler.upsert(aRoute('goes'));
        handler.synced();
        failing.push((error) => handler.failed?.(error));
        return { stop: () => undefined };
      }
      return watch(kind, selection, handler);
    };
    const routes = routesOf(parts);
    routes.start();
    await until('complete', () => routes.state === 'complete');
    expect(routes.size).toBe(2);
    served.delete('v1alpha2');
    failing[0]?.(new FleetError('KUBE_NOT_FOUND', 'user', 'not served'));
    await settle();
    expect([routes.state, routes.size]).toEqual(['complete', 2]);
    served.add('v1');
    failing[0]?.(new FleetError('KUBE_NOT_FOUND', 'user', 'not served'));
    await until('the other version', () => routes.served.version === 'v1' && routes.size === 1);
    expect(routes.values().map(({ meta }) => meta.name)).toEqual(['stays']);
    expect(seen.changes).toBeGreaterThan(0);
    routes.stop();
  });
  it('an API server that is away does not make a kind missing', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock, strict: true });
    kube.goAway();
    const { parts } = context(kube, clock);
    const selectors = new WatchedKind({ kind: KUBE_KINDS.endpointSelector, parse: parseEndpointSelector, optional: 'wanted' }, parts);
    selectors.start();
    await clock.advance(60_000);
    expect(selectors.state).toBe('listing');
    selectors.stop();
  });
  it('an object that does not read is left out and named, and the others stay', async () => {
    const kube = new FakeKube();
    kube.seed(KUBE_KINDS.pod, podObject('a', true));
    kube.seed(KUBE_KINDS.pod, { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ai', name: 'broken' }, spec: 7 });
    const { parts, seen } = context(kube, new FakeClock());
    const pods = new WatchedKind({ kind: KUBE_KINDS.pod, parse: parsePod }, parts);
    pods.start();
    await until('complete', () => pods.state === 'complete');
    expect(pods.values().map((pod) => pod.name)).toEqual(['a']);
    expect(seen.unreadable).toEqual(['KUBE_OBJECT_UNREADABLE']);
    pods.stop();
  });
});
