import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { FleetError } from '#domain/fleet';
import { FakeClock, FakeKube, settle, until } from '#testing';

import { ServiceKeeper } from './service-keeper.js';

const SYSTEM = 'spillway-system';
const REF = { namespace: SYSTEM, name: 'spillway-spoke-dns' };
const running: ServiceKeeper[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((keeper) => keeper.stop()));
});

async function bench() {
  const clock = new FakeClock();
  const kube = new FakeKube({ clock });
  const state = { mayWrite: true };
  const spec = { clusterIP: '172.30.0.7', clusterIPs: ['172.30.0.7'], selector: { a: 'b' }, ports: [{ port: 53, protocol: 'UDP' }] };
  kube.seed(KUBE_KINDS.service, { apiVersion: 'v1', kind: 'Service', metadata: { ...REF, labels: { own: 'yes' } }, spec });
  kube.seed(KUBE_KINDS.service, { apiVersion: 'v1', kind: 'Service', metadata: { namespace: SYSTEM, name: 'somebody-elses' }, spec });
  const keeper = new ServiceKeeper({ kube, clock, logger: pino({ level: 'silent' }), mayWrite: () => state.mayWrite }, { namespace: SYSTEM, names: [REF.name] });
  running.push(keeper);
  keeper.start();
  await settle();
  return { clock, kube, state, spec, find: () => kube.find(KUBE_KINDS.service, REF) };
}

describe('Services of ours that somebody deletes', () => {
  it('are put back as they were, with their address, and others are not', async () => {
    const { clock, kube, spec, find } = await bench();
    await kube.remove(KUBE_KINDS.service, REF);
    await kube.remove(KUBE_KINDS.service, { namespace: SYSTEM, name: 'somebody-elses' });
    await until('put back', async () => (await find()) !== undefined, clock, 1_000);
    expect(await find()).toMatchObject({ metadata: { labels: { own: 'yes' } }, spec });
    await clock.advance(30_000);
    expect((await kube.list(KUBE_KINDS.service)).map(({ metadata }) => metadata.name)).toEqual([REF.name]);
  });
  it('get another address where theirs is taken', async () => {
    const { clock, kube, find } = await bench();
    const create = kube.create.bind(kube);
    kube.create = async (kind, object) => {
      if ((object['spec'] as { clusterIP?: string }).clusterIP === '172.30.0.7') throw new FleetError('KUBE_INVALID', 'user', 'provided IP is already allocated');
      return create(kind, object);
    };
    await kube.remove(KUBE_KINDS.service, REF);
    await until('put back', async () => (await find()) !== undefined, clock, 1_000);
    expect((await find())?.['spec']).toEqual({ selector: { a: 'b' }, ports: [{ port: 53, protocol: 'UDP' }] });
  });
  it('are put back once the API server answers and this replica may write', async () => {
    const { clock, kube, state, find } = await bench();
    state.mayWrite = false;
    await kube.remove(KUBE_KINDS.service, REF);
    await clock.advance(20_000);
    expect(await find()).toBeUndefined();
    kube.forbid('create', '', 'services');
    state.mayWrite = true;
    await clock.advance(20_000);
    expect(await find()).toBeUndefined();
    kube.permit('create', '', 'services');
    await until('put back', async () => (await find()) !== undefined, clock, 1_000);
  });
  it('stay as somebody else puts them back meanwhile', async () => {
    const { clock, kube, find } = await bench();
    await kube.remove(KUBE_KINDS.service, REF);
    kube.seed(KUBE_KINDS.service, { apiVersion: 'v1', kind: 'Service', metadata: REF, spec: { clusterIP: '172.30.0.8' } });
    await clock.advance(30_000);
    expect((await find())?.['spec']).toEqual({ clusterIP: '172.30.0.8' });
  });
});
