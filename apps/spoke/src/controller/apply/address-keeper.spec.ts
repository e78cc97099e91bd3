import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { KUBE_KINDS } from '#contracts/kube-objects';
import type { AddressPlan } from '#domain/addresses';
import { FakeClock, FakeKube } from '#testing';

import { AddressKeeper, MEMORY_MS } from './address-keeper.js';

const gateway = { namespace: 'ai', name: 'front' };
const NOTHING: AddressPlan = { assignments: new Map(), addFinalizers: [], create: [], remove: [], removeFinalizers: [], protectCidrs: [], unprotectCidrs: [], problems: [] };
const create = { ...NOTHING, addFinalizers: [gateway], create: [{ address: '172.30.9.9', family: 'IPv4', gateway }] } satisfies AddressPlan;
const always = (): boolean => true;

function keeper() {
  const clock = new FakeClock();
  const kube = new FakeKube({ clock });
  kube.seed(KUBE_KINDS.gateway, { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { ...gateway, finalizers: ['other.example/keep'] }, spec: {} });
  return { clock, kube, addresses: new AddressKeeper(kube, clock, pino({ level: 'silent' })) };
}
const finalizers = async (kube: FakeKube): Promise<readonly string[]> => (await kube.find(KUBE_KINDS.gateway, gateway))?.metadata.finalizers ?? [];

describe('address keeper', () => {
  it('an address that was claimed counts before the watch has told of it, and not for ever', async () => {
    const { addresses, clock } = keeper();
    await addresses.apply(create, always);
    expect(addresses.known([])).toMatchObject([{ name: '172.30.9.9', managedBy: 'spillway.dev', parent: { namespace: 'ai', name: 'front' } }]);
    const watched = addresses.known([]);
    expect(addresses.known(watched)).toBe(watched);
    expect(addresses.known([])).toEqual([]);
    await addresses.apply({ ...NOTHING, remove: [{ name: '172.30.9.9', uid: watched[0]?.uid ?? '' }] }, always);
    await addresses.apply(create, always);
    await clock.advance(MEMORY_MS + 1);
    expect(addresses.known([])).toEqual([]);
  });
  it('an address that another has is remembered as taken until the watch must have told of it', async () => {
    const { addresses, kube, clock } = keeper();
    await kube.create(KUBE_KINDS.ipAddress, { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name: '172.30.9.9' }, spec: {} });
    expect(await addresses.apply(create, always)).toBe(true);
    expect([...addresses.taken()]).toEqual(['172.30.9.9']);
    await clock.advance(MEMORY_MS + 1);
    expect([...addresses.taken()]).toEqual([]);
  });
  it('the finalizer is on before the address is claimed, beside others\', and goes alone', async () => {
    const { addresses, kube } = keeper();
    kube.forbid('create', 'networking.k8s.io', 'ipaddresses');
    await expect(addresses.apply(create, always)).rejects.toMatchObject({ code: 'KUBE_FORBIDDEN' });
    expect(await finalizers(kube)).toEqual(['other.example/keep', 'spillway.dev/address-protection']);
    await addresses.apply({ ...NOTHING, removeFinalizers: [gateway] }, always);
    expect(await finalizers(kube)).toEqual(['other.example/keep']);
  });
  it('no address is claimed where the finalizer could not be put on', async () => {
    const { addresses, kube } = keeper();
    kube.forbid('update', 'gateway.networking.k8s.io', 'gateways');
    await expect(addresses.apply(create, always)).rejects.toMatchObject({ code: 'KUBE_FORBIDDEN' });
    expect(await kube.list(KUBE_KINDS.ipAddress)).toEqual([]);
  });
  it('only the very object that was meant is removed', async () => {
    const { addresses, kube } = keeper();
    await kube.create(KUBE_KINDS.ipAddress, { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name: '172.30.9.9' }, spec: {} });
    await addresses.apply({ ...NOTHING, remove: [{ name: '172.30.9.9', uid: 'of-an-earlier-one' }] }, always);
    expect((await kube.list(KUBE_KINDS.ipAddress)).length).toBe(1);
  });
  it('without the right to write nothing is done', async () => {
    const { addresses, kube } = keeper();
    const { revision } = kube;
    await addresses.apply(create, () => false);
    expect(kube.revision).toBe(revision);
  });
});
