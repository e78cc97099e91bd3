import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Kube, KubeKind, KubeObject, KubeWatch } from '#ports';

/** A server to test, with rights to do anything on it, and how to let go of it. */
export interface KubeUnderTest {
  readonly kube: Kube;
  close(): Promise<void>;
}

const NAMESPACE: KubeKind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
const CONFIG_MAP: KubeKind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const CRD: KubeKind = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions', namespaced: false };
const THING: KubeKind = { group: 'conformance.spillway.dev', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const ABSENT: KubeKind = { ...THING, kind: 'Nothing', plural: 'nothings' };
const ACCESS_REVIEW: KubeKind = { group: 'authorization.k8s.io', version: 'v1', kind: 'SelfSubjectAccessReview', plural: 'selfsubjectaccessreviews', namespaced: false };
const SPACE = 'kube-conformance';

const thingDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.conformance.spillway.dev' },
  spec: {
    group: THING.group,
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } }],
  },
};

const configMap = (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: SPACE, labels }, data });
const thing = (name: string, spec: object): KubeObject => ({ apiVersion: 'conformance.spillway.dev/v1', kind: 'Thing', metadata: { name, namespace: SPACE }, spec });

/** Runs until the check returns something, for servers that take a moment; fails with what it last saw. */
async function eventually<T>(check: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const untilMs = Date.now() + 20_000;
  for (;;) {
    const value = await check();
    if (value !== undefined) return value;
    if (Date.now() > untilMs) throw new Error('did not come to be within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a Kube adapter, real or fake, guarantees. Skipped, with its reasons in the name, where the machine lacks something. */
export function kubeConformance(name: string, start: () => Promise<KubeUnderTest>, missing: readonly string[] = []): void {
  const title = `${name}: the Kube port${missing.length === 0 ? '' : ` (skipped: ${missing.join(' ')})`}`;
  (missing.length === 0 ? describe : describe.skip)(title, () => {
    let under: KubeUnderTest;
    let kube: Kube;
    beforeAll(async () => {
      under = await start();
      kube = under.kube;
      await kube.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SPACE } });
      await kube.create(CRD, thingDefinition);
      await eventually(() => kube.list(THING).catch(() => undefined));
    }, 60_000);
    afterAll(async () => under.close());
    readingTests(() => kube);
    writingTests(() => kube);
    applyTests(() => kube);
    removalTests(() => kube);
    watchTests(() => kube);
  });
}

function readingTests(kube: () => Kube): void {
  it('finds what was created, and nothing where there is nothing', async () => {
    const created = await kube().create(CONFIG_MAP, configMap('found', { a: '1' }));
    expect(created.metadata.uid).toBeTruthy();
    expect(await kube().find(CONFIG_MAP, { namespace: SPACE, name: 'found' })).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { a: '1' } });
    expect(await kube().find(CONFIG_MAP, { namespace: SPACE, name: 'absent' })).toBeUndefined();
  });
  it('finds nothing of a kind that is not served, and refuses to list it', async () => {
    expect(await kube().find(ABSENT, { namespace: SPACE, name: 'x' })).toBeUndefined();
    await expect(kube().list(ABSENT)).rejects.toMatchObject({ name: 'FleetError', code: 'KUBE_NOT_FOUND' });
  });
  it('lists by namespace, labels and fields, each item with its kind', async () => {
    await kube().create(CONFIG_MAP, configMap('listed-1', {}, { team: 'a', tier: 'x' }));
    await kube().create(CONFIG_MAP, configMap('listed-2', {}, { team: 'b' }));
    const names = async (labelSelector: string): Promise<string[]> => (await kube().list(CONFIG_MAP, { namespace: SPACE, labelSelector })).map((object) => object.metadata.name);
    expect(await names('team')).toEqual(['listed-1', 'listed-2']);
    expect(await names('team=a')).toEqual(['listed-1']);
    expect(await names('team,team!=a')).toEqual(['listed-2']);
    expect(await names('team in (a,c),tier')).toEqual(['listed-1']);
    const byField = await kube().list(CONFIG_MAP, { namespace: SPACE, fieldSelector: 'metadata.name=listed-2' });
    expect(byField).toMatchObject([{ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'listed-2' } }]);
    expect(await kube().list(CONFIG_MAP, { namespace: 'default', labelSelector: 'team' })).toEqual([]);
  });
  it('says the server version and its time', async () => {
    const info = await kube().serverInfo();
    expect(info.version).toMatch(/^v1\.\d+/);
    expect(typeof info.timeMs).toBe('number');
  });
  it('discovers what a custom group serves', async () => {
    expect(await kube().raw('/apis/conformance.spillway.dev/v1')).toMatchObject({ resources: expect.arrayContaining([expect.objectContaining({ name: 'things', kind: 'Thing' })]) });
    await expect(kube().raw('/apis/absent.spillway.dev/v1')).rejects.toMatchObject({ code: 'KUBE_NOT_FOUND' });
  });
  it('answers an access review without storing it', async () => {
    const review = await kube().create(ACCESS_REVIEW, { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', metadata: { name: '' }, spec: { resourceAttributes: { verb: 'create', group: 'apps', resource: 'deployments', namespace: SPACE } } });
    expect(review['status']).toMatchObject({ allowed: true });
  });
}

function writingTests(kube: () => Kube): void {
  it('claims a name atomically: the second create fails', async () => {
    await kube().create(CONFIG_MAP, configMap('claimed'));
    await expect(kube().create(CONFIG_MAP, configMap('claimed'))).rejects.toMatchObject({ code: 'KUBE_ALREADY_EXISTS', kind: 'user' });
  });
  it('refuses an invalid name, and an object in a namespace that is not there', async () => {
    await expect(kube().create(CONFIG_MAP, configMap('Not_A_Name'))).rejects.toMatchObject({ code: 'KUBE_INVALID' });
    const elsewhere = configMap('lost');
    await expect(kube().create(CONFIG_MAP, { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'absent' } })).rejects.toMatchObject({ code: 'KUBE_NOT_FOUND' });
  });
  it('replaces the version that was read, and no other', async () => {
    const read = await kube().create(CONFIG_MAP, configMap('replaced', { a: '1' }));
    const written = await kube().replace(CONFIG_MAP, { ...read, data: { a: '2' } });
    expect(written.metadata.resourceVersion).not.toBe(read.metadata.resourceVersion);
    await expect(kube().replace(CONFIG_MAP, { ...read, data: { a: '3' } })).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
    await expect(kube().replace(CONFIG_MAP, { ...written, metadata: { ...written.metadata, name: 'absent', uid: undefined } })).rejects.toMatchObject({ code: 'KUBE_NOT_FOUND' });
    expect(await kube().find(CONFIG_MAP, { namespace: SPACE, name: 'replaced' })).toMatchObject({ data: { a: '2' } });
  });
  it('a replacement that changes nothing is no write', async () => {
    const read = await kube().create(CONFIG_MAP, configMap('unchanged', { a: '1' }));
    expect((await kube().replace(CONFIG_MAP, read)).metadata.resourceVersion).toBe(read.metadata.resourceVersion);
  });
  it('keeps spec and status apart, and counts generations of the spec only', async () => {
    const created = await kube().create(THING, { ...thing('apart', { size: 1 }), status: { seen: true } });
    expect(created).toMatchObject({ metadata: { generation: 1 } });
    expect(created['status']).toBeUndefined();
    const withStatus = await kube().replaceStatus(THING, { ...created, spec: { size: 9 }, status: { seen: true } });
    expect(withStatus).toMatchObject({ spec: { size: 1 }, status: { seen: true }, metadata: { generation: 1 } });
    await expect(kube().replaceStatus(THING, { ...created, status: {} })).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
    const grown = await kube().replace(THING, { ...withStatus, spec: { size: 2 }, status: {} });
    expect(grown).toMatchObject({ spec: { size: 2 }, status: { seen: true }, metadata: { generation: 2 } });
  });
}

function applyTests(kube: () => Kube): void {
  it('applies: creates, then changes only what differs', async () => {
    const first = await kube().apply(CONFIG_MAP, configMap('applied', { a: '1' }), 'one');
    const again = await kube().apply(CONFIG_MAP, configMap('applied', { a: '1' }), 'one');
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(await kube().apply(CONFIG_MAP, configMap('applied', { a: '2' }), 'one')).toMatchObject({ data: { a: '2' }, metadata: { uid: first.metadata.uid } });
  });
  it('applies beside others: each manager takes back its own fields only', async () => {
    await kube().apply(CONFIG_MAP, configMap('shared', { ours: '1', dropped: '1' }), 'one');
    await kube().apply(CONFIG_MAP, configMap('shared', { theirs: '1' }), 'two');
    const read = await kube().apply(CONFIG_MAP, configMap('shared', { ours: '2' }), 'one');
    expect(read['data']).toEqual({ ours: '2', theirs: '1' });
  });
  it('applies over a foreign value by force', async () => {
    await kube().apply(CONFIG_MAP, configMap('forced', { a: 'theirs' }), 'two');
    expect((await kube().apply(CONFIG_MAP, configMap('forced', { a: 'ours' }), 'one'))['data']).toEqual({ a: 'ours' });
  });
}

function removalTests(kube: () => Kube): void {
  it('removes, and what is already gone is no error', async () => {
    await kube().create(CONFIG_MAP, configMap('removed'));
    await kube().remove(CONFIG_MAP, { namespace: SPACE, name: 'removed' });
    await kube().remove(CONFIG_MAP, { namespace: SPACE, name: 'removed' });
    await kube().remove(ABSENT, { namespace: SPACE, name: 'removed' });
    expect(await kube().find(CONFIG_MAP, { namespace: SPACE, name: 'removed' })).toBeUndefined();
  });
  it('removes only the very object that was meant', async () => {
    const created = await kube().create(CONFIG_MAP, configMap('meant'));
    const ref = { namespace: SPACE, name: 'meant' };
    await expect(kube().remove(CONFIG_MAP, ref, { uid: '11111111-2222-4333-8444-555555555555' })).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
    await kube().remove(CONFIG_MAP, ref, { uid: created.metadata.uid, resourceVersion: created.metadata.resourceVersion });
    expect(await kube().find(CONFIG_MAP, ref)).toBeUndefined();
  });
  it('keeps what has a finalizer until the finalizer goes', async () => {
    const created = await kube().create(THING, { ...thing('finalized', {}), metadata: { name: 'finalized', namespace: SPACE, finalizers: ['conformance.spillway.dev/hold'] } });
    await kube().remove(THING, created.metadata);
    const held = await kube().find(THING, created.metadata);
    expect(held?.metadata.deletionTimestamp).toBeTruthy();
    await kube().replace(THING, { ...held!, metadata: { ...held!.metadata, finalizers: [] } });
    expect(await kube().find(THING, created.metadata)).toBeUndefined();
  });
}

interface Recording {
  readonly events: string[];
  readonly watch: KubeWatch;
}

function record(kube: Kube, labelSelector: string): Recording {
  const events: string[] = [];
  const describeObject = (object: KubeObject): string => `${object.metadata.name}=${(object['data'] as Record<string, string> | undefined)?.['v'] ?? ''}`;
  const watch = kube.watch(CONFIG_MAP, { namespace: SPACE, labelSelector }, {
    upsert: (object) => events.push(`upsert ${describeObject(object)}`),
    remove: (object) => events.push(`remove ${object.metadata.name}`),
    synced: () => events.push('synced'),
  });
  return { events, watch };
}

const seen = async (events: readonly string[], event: string): Promise<string> => eventually(() => events.find((entry) => entry === event));

function watchTests(kube: () => Kube): void {
  it('a watch lists, says that it has, then follows every change in order', async () => {
    const labels = { watched: 'order' };
    const first = await kube().create(CONFIG_MAP, configMap('watched', { v: '1' }, labels));
    const { events, watch } = record(kube(), 'watched=order');
    await seen(events, 'synced');
    await kube().replace(CONFIG_MAP, { ...first, data: { v: '2' } });
    await kube().create(CONFIG_MAP, configMap('watched-too', { v: '1' }, labels));
    await kube().remove(CONFIG_MAP, first.metadata);
    await seen(events, 'remove watched');
    watch.stop();
    expect(events).toEqual(['upsert watched=1', 'synced', 'upsert watched=2', 'upsert watched-too=1', 'remove watched']);
  });
  it('an object that leaves the selection is removed from the watch', async () => {
    const created = await kube().create(CONFIG_MAP, configMap('leaving', { v: '1' }, { watched: 'leave' }));
    const { events, watch } = record(kube(), 'watched=leave');
    await seen(events, 'synced');
    await kube().replace(CONFIG_MAP, { ...created, metadata: { ...created.metadata, labels: {} } });
    await seen(events, 'remove leaving');
    watch.stop();
  });
  it('a stopped watch tells nothing more', async () => {
    const stopped = record(kube(), 'watched=stop');
    const going = record(kube(), 'watched=stop');
    await seen(stopped.events, 'synced');
    await seen(going.events, 'synced');
    stopped.watch.stop();
    await kube().create(CONFIG_MAP, configMap('after-stop', { v: '1' }, { watched: 'stop' }));
    await seen(going.events, 'upsert after-stop=1');
    going.watch.stop();
    expect(stopped.events).toEqual(['synced']);
  });
}
