import { connect, createServer, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { describe, expect, it } from '@jest/globals';

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
  it('a Secret that was tampered with is made anew', async () => {
    const clock = new FakeClock(Date.now());
    const kube = new FakeKube({ clock });
    kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'spillway-system', name: 'spillway-xds-tls' }, data: { 'tls.crt': 'AAAA', 'tls.key': 'AAAA', 'ca.crt': 'AAAA', 'ca.key': 'AAAA' } });
    const tls = await ensureXdsTls(kube, clock, options);
    expect(await handshake(tls, await publishedCa(kube), 'spillway-spoke-controller')).toBe(true);
  });
});
