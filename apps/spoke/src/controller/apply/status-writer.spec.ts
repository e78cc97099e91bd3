import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { KUBE_KINDS } from '#contracts/kube-objects';
import type { StatusWrite } from '#domain/gateway-api';
import type { KubeObject } from '#ports';
import { FakeKube } from '#testing';

import { StatusWriter } from './status-writer.js';

const writer = (kube: FakeKube): StatusWriter => new StatusWriter(kube, pino({ level: 'silent' }), (kind) => (kind === 'TCPRoute' ? KUBE_KINDS.tcpRoute : KUBE_KINDS.gateway));
const seed = (kube: FakeKube, name: string): KubeObject => kube.seed(KUBE_KINDS.gateway, { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { namespace: 'ai', name }, spec: { listeners: [name] } });
const writeOf = ({ metadata }: KubeObject, note: string): StatusWrite => ({ kind: 'Gateway', namespace: 'ai', name: metadata.name, uid: metadata.uid ?? '', resourceVersion: metadata.resourceVersion ?? '', status: { note } });
const current = async (kube: FakeKube, name: string): Promise<KubeObject | undefined> => kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name });
const always = (): boolean => true;

describe('status writer', () => {
  it('writes the status and nothing else of the object', async () => {
    const kube = new FakeKube();
    expect(await writer(kube).write([writeOf(seed(kube, 'a'), 'x')], always)).toMatchObject({ written: 1, conflicts: 0 });
    expect(await current(kube, 'a')).toMatchObject({ spec: { listeners: ['a'] }, status: { note: 'x' } });
  });
  it('writes once against one version, until the watch has told of the next', async () => {
    const kube = new FakeKube();
    const statuses = writer(kube);
    const write = writeOf(seed(kube, 'a'), 'x');
    await statuses.write([write], always);
    expect(await statuses.write([write], always)).toMatchObject({ written: 0, conflicts: 0 });
    const next = await current(kube, 'a');
    expect(await statuses.write([writeOf(next as KubeObject, 'y')], always)).toMatchObject({ written: 1 });
    expect(await current(kube, 'a')).toMatchObject({ status: { note: 'y' } });
  });
  it('a newer version, or an object that is gone, is left to the next plan', async () => {
    const kube = new FakeKube();
    const stale = writeOf(seed(kube, 'a'), 'stale');
    seed(kube, 'a');
    const gone = writeOf(seed(kube, 'b'), 'gone');
    await kube.remove(KUBE_KINDS.gateway, { namespace: 'ai', name: 'b' });
    expect(await writer(kube).write([stale, gone], always)).toMatchObject({ written: 0, conflicts: 2, transient: undefined });
    expect((await current(kube, 'a'))?.['status']).toBeUndefined();
  });
  it('an API server that is away is told, and the same write goes through later', async () => {
    const kube = new FakeKube();
    const statuses = writer(kube);
    const write = writeOf(seed(kube, 'a'), 'x');
    kube.goAway();
    expect((await statuses.write([write], always)).transient).toMatchObject({ code: 'KUBE_UNREACHABLE' });
    kube.comeBack();
    expect(await statuses.write([write], always)).toMatchObject({ written: 1 });
  });
  it('one refused status does not keep the others from being written, and is not tried again in vain', async () => {
    const kube = new FakeKube();
    const statuses = writer(kube);
    const refused = { ...writeOf(seed(kube, 'a'), 'x'), kind: 'TCPRoute' } satisfies StatusWrite;
    kube.forbid('update', 'gateway.networking.k8s.io', 'tcproutes/status');
    const good = writeOf(seed(kube, 'b'), 'y');
    expect(await statuses.write([refused, good], always)).toMatchObject({ written: 1, transient: undefined });
    expect(await current(kube, 'b')).toMatchObject({ status: { note: 'y' } });
  });
  it('without the right to write nothing is written', async () => {
    const kube = new FakeKube();
    expect(await writer(kube).write([writeOf(seed(kube, 'a'), 'x')], () => false)).toMatchObject({ written: 0 });
  });
});
