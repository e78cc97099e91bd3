import { connect, createServer, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { describe, expect, it } from '@jest/globals';

import { createAuthority, type KeyedCertificate } from '#adapters/certificates';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { FakeClock, FakeKube } from '#testing';

import { ensureXdsTls, XDS_TLS_LIFE, type XdsTls } from './xds-tls.js';

const options = { namespace: 'spillway-system', secretName: 'spillway-xds-tls', caConfigMapName: 'spillway-xds-ca', names: ['spillway-spoke-controller', 'spillway-spoke-controller.spillway-system.svc', '172.30.0.9'] };
const publishedCa = async (kube: FakeKube): Promise<string> => {
  const found = await kube.find(KUBE_KINDS.configMap, { namespace: 'spillway-system', name: 'spillway-xds-ca' });
  return (found?.['data'] as Record<string, string> | undefined)?.['ca.crt'] ?? '';
};

async function handshake(tls: XdsTls, ca: string, servername: string): Promise<boolean> {
  const server = createServer({ cert: tls.certificatePem, key: tls.privateKeyPem }, (socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket: TLSSocket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ca, servername });
  try {
    await once(socket, 'secureConnect');
    return socket.authorized;
  } catch {
    return false;
  } finally {
    socket.destroy();
    server.close();
  }
}

describe('the xDS server\'s own key', () => {
  it('is made once, and its clients trust it by the published CA', async () => {
    const clock = new FakeClock(Date.now());
    const kube = new FakeKube({ clock });
    const tls = await ensureXdsTls(kube, clock, options);
    expect(await handshake(tls, await publishedCa(kube), 'spillway-spoke-controller.spillway-system.svc')).toBe(true);
    expect(await handshake(tls, await publishedCa(kube), 'other.example')).toBe(false);
    expect(await ensureXdsTls(kube, clock, options)).toEqual(tls);
  });
  it('two replicas that start at once end with one key', async () => {
    const clock = new FakeClock(Date.now());
    const kube = new FakeKube({ clock });
    const [one, two] = await Promise.all([ensureXdsTls(kube, clock, options), ensureXdsTls(kube, clock, options)]);
    expect(one).toEqual(two);
  });
  it('a changed ClusterIP gets a new certificate under the same CA', async () => {
    const clock = new FakeClock(Date.now());
    const kube = new FakeKube({ clock });
    const before = await ensureXdsTls(kube, clock, options);
    const after = await ensureXdsTls(kube, clock, { ...options, names: [...options.names, '172.30.0.10'] });
    expect(after.caBundlePem).toBe(before.caBundlePem);
    expect(after.certificatePem).not.toBe(before.certificatePem);
    expect(await handshake(after, before.caBundlePem, 'spillway-spoke-controller')).toBe(true);
  });
  it('a serving certificate is replaced with a third of its life left, a CA too, and the old CA stays trusted meanwhile', async () => {
    const clock = new FakeClock(Date.now());
    const kube = new FakeKube({ clock });
    const first = await ensureXdsTls(kube, clock, options);
    await clock.advance(XDS_TLS_LIFE.servingMs * 0.7);
    const second = await ensureXdsTls(kube, clock, options);
    expect(second.certificatePem).not.toBe(first.certificatePem);
    expect(second.caBundlePem).toBe(first.caBundlePem);
    await clock.advance(XDS_TLS_LIFE.authorityMs * 0.7);
    const third = await ensureXdsTls(kube, clock, options);
    expect(third.caBundlePem).not.toBe(first.caBundlePem);
    expect(third.caBundlePem).toContain(first.caBundlePem.trim());
    expect(await ensureXdsTls(kube, clock, options)).toEqual(third);
    const fourth = await ensureXdsTls(kube, clock, { ...options, names: [...options.names, '172.30.0.11'] });
    expect(fourth.caBundlePem).toBe(third.caBundlePem);
  });
  const foreign = (): Promise<KeyedCertificate> => createAuthority('another', { nowMs: Date.now(), backdateMs: 0, lifeMs: DAY_MS });
  const damages: { readonly name: string; readonly spoil: (data: Data) => Promise<Data> | Data }[] = [
    { name: 'gone', spoil: () => ({}) },
    { name: 'garbage', spoil: () => ({ 'tls.crt': 'AAAA', 'tls.key': 'AAAA', 'ca.crt': 'AAAA', 'ca.key': 'AAAA' }) },
    { name: 'left with half a serving key', spoil: (data) => ({ ...data, 'tls.key': half(data['tls.key']) }) },
    { name: 'left with half a serving certificate', spoil: (data) => ({ ...data, 'tls.crt': half(data['tls.crt']) }) },
    { name: 'left with half an authority', spoil: (data) => ({ ...data, 'ca.crt': half(data['ca.crt']) }) },
    { name: 'left with half of the authority\'s key', spoil: (data) => ({ ...data, 'ca.key': half(data['ca.key']) }) },
    { name: 'given another key to serve with', spoil: async (data) => ({ ...data, 'tls.key': encoded((await foreign()).privateKeyPem) }) },
    { name: 'given another authority\'s key', spoil: async (data) => ({ ...data, 'ca.key': encoded((await foreign()).privateKeyPem) }) },
    { name: 'given another authority', spoil: async (data) => ({ ...data, 'ca.crt': encoded((await foreign()).certificatePem) }) },
    { name: 'given a bundle that ends in half a certificate', spoil: (data) => ({ ...data, 'ca.crt': encoded(`${decoded(data['ca.crt'])}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`) }) },
  ];
  const damaged = async (spoil: (data: Data) => Promise<Data> | Data) => {
    const clock = new FakeClock(Date.now());
    const kube = new FakeKube({ clock });
    const before = await ensureXdsTls(kube, clock, options);
    const data = await spoil(await secretData(kube));
    if (Object.keys(data).length === 0) await kube.remove(KUBE_KINDS.secret, SECRET);
    else kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: SECRET, data });
    return { clock, kube, before };
  };
  it.each(damages)('a Secret that was $name is usable again at the next start, and then stays as it is', async ({ spoil }) => {
    const { clock, kube } = await damaged(spoil);
    const tls = await ensureXdsTls(kube, clock, options);
    expect(await handshake(tls, await publishedCa(kube), 'spillway-spoke-controller')).toBe(true);
    expect(await ensureXdsTls(kube, clock, options)).toEqual(tls);
    const renewedLater = await ensureXdsTls(kube, clock, { ...options, names: [...options.names, '172.30.0.10'] });
    expect(await handshake(renewedLater, tls.caBundlePem, 'spillway-spoke-controller')).toBe(true);
  });
  it.each(damages)('a Secret that was $name is put back by the process that serves with it: no client has to learn anything', async ({ spoil }) => {
    const { clock, kube, before } = await damaged(spoil);
    const flaws: string[] = [];
    const again = await ensureXdsTls(kube, clock, { ...options, known: before, onFlaw: (flaw) => flaws.push(flaw) });
    expect(again).toEqual(before);
    expect(await ensureXdsTls(kube, clock, { ...options, onFlaw: (flaw) => flaws.push(flaw) })).toEqual(before);
    expect(await publishedCa(kube)).toBe(before.caBundlePem);
    expect(flaws.length).toBeLessThanOrEqual(1);
  });
});

type Data = Readonly<Record<string, string | undefined>>;
const SECRET = { namespace: 'spillway-system', name: 'spillway-xds-tls' };
const DAY_MS = 24 * 60 * 60 * 1_000;
const decoded = (base64 = ''): string => Buffer.from(base64, 'base64').toString('utf8');
const encoded = (text: string): string => Buffer.from(text).toString('base64');
const half = (base64 = ''): string => encoded(decoded(base64).slice(0, decoded(base64).length / 2));
const secretData = async (kube: FakeKube): Promise<Data> => (await kube.find(KUBE_KINDS.secret, SECRET))?.['data'] as Data;
