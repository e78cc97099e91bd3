import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { startXdsClient, type XdsClient } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { SystemClock } from '#platform';
import { renderXdsSnapshot, type XdsSnapshot } from '#domain/xds-snapshot';
import { FakeClock, FakeKube, FakeRandom, until } from '#testing';

import { TokenReviewer } from './token-reviewer.js';
import { DNS_ACCOUNT, NODE_ACCOUNT, XdsListener } from './xds-listener.js';

const SYSTEM = 'spillway-system';
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});

const logger = pino({ level: 'silent' });
const snapshot = renderXdsSnapshot({ frontends: [{ kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'front', addresses: ['172.30.0.9'], dnsNames: [], listeners: [{ name: 'tcp', port: 80, protocol: 'TCP', uses: [], rejectWeight: 1 }] }], backends: [], gatewayPorts: [] });

const DAY_MS = 24 * 60 * 60 * 1_000;

function listener(startMs = Date.now()) {
  const clock = new FakeClock(startMs);
  const kube = new FakeKube({ clock });
  kube.seed(KUBE_KINDS.service, { apiVersion: 'v1', kind: 'Service', metadata: { namespace: SYSTEM, name: 'spillway-spoke-controller' }, spec: { clusterIP: '127.0.0.1' } });
  kube.tokens.set('node-token', { username: `system:serviceaccount:${SYSTEM}:${NODE_ACCOUNT}`, audiences: ['spillway-xds'], extra: { 'authentication.kubernetes.io/node-name': ['n1'], 'authentication.kubernetes.io/pod-name': ['agent-n1'] } });
  const reviewer = new TokenReviewer(kube, clock, { namespace: SYSTEM, audience: 'spillway-xds', serviceAccounts: [NODE_ACCOUNT, DNS_ACCOUNT], trustMs: 60_000, refuseMs: 5_000, cacheEntriesMax: 100, asksMax: 16, refusalsPerSourceMax: 20, refusalWindowMs: 60_000 });
  const registry = new Registry();
  const server = new XdsListener({ kube, clock, random: new FakeRandom(1), logger, registry, reviewer, options: { host: '127.0.0.1', port: 0, namespace: SYSTEM, serviceName: 'spillway-spoke-controller', tlsSecretName: 'spillway-xds-tls', caConfigMapName: 'spillway-xds-ca', checkMs: DAY_MS } });
  closing.push(server);
  const readCaPem = async (): Promise<string> => ((await kube.find(KUBE_KINDS.configMap, { namespace: SYSTEM, name: 'spillway-xds-ca' }))?.['data'] as Record<string, string>)['ca.crt'] ?? '';
  return { clock, kube, server, registry, readCaPem };
}

function client(parts: ReturnType<typeof listener>, nodeId: string, token: string): { received: XdsSnapshot[]; client: XdsClient } {
  const received: XdsSnapshot[] = [];
  const started = startXdsClient({
    target: `127.0.0.1:${parts.server.port}`, tls: { readCaPem: parts.readCaPem, serverName: 'spillway-spoke-controller' }, readToken: async () => token, nodeId, typeUrls: [CLUSTER_TYPE_URL],
    onUpdate: async (update) => void received.push(update), clock: new SystemClock(), random: new FakeRandom(2), logger, backoff: { firstMs: 20, maxMs: 50 },
  });
  closing.push(started);
  return { received, client: started };
}

describe('xds listener', () => {
  it('serves an authenticated node over TLS, and hears what it acknowledges', async () => {
    const parts = listener();
    parts.server.setSnapshot(snapshot);
    parts.server.start();
    await until('listening', () => parts.server.notReady() === undefined);
    const { received } = client(parts, 'n1', 'node-token');
    await until('acknowledged', () => parts.server.acknowledgements.status('n1', CLUSTER_TYPE_URL, 'reject/ai/front').kind === 'acked');
    expect(received.at(-1)?.clusters.map((cluster) => cluster.name)).toEqual(['reject/ai/front']);
  });
  it('answers nothing before the first snapshot', async () => {
    const parts = listener();
    parts.server.start();
    await until('listening', () => parts.server.notReady() === undefined);
    const { received } = client(parts, 'n1', 'node-token');
    await until('connected', () => parts.server.acknowledgements.streams().length === 1);
    expect(received).toEqual([]);
    parts.server.setSnapshot(snapshot);
    await until('served', () => received.length > 0);
  });
  it.each([
    { name: 'a token that nobody knows', nodeId: 'n1', token: 'forged' },
    { name: 'a node that speaks for another', nodeId: 'n2', token: 'node-token' },
  ])('$name gets nothing', async ({ nodeId, token }) => {
    const parts = listener();
    parts.server.setSnapshot(snapshot);
    parts.server.start();
    await until('listening', () => parts.server.notReady() === undefined);
    const { received, client: refused } = client(parts, nodeId, token);
    const good = client(parts, 'n1', 'node-token');
    await until('the good one is served', () => good.received.length > 0);
    await until('refused', async () => (await parts.registry.getSingleMetricAsString('spillway_xds_refused_streams_total')).includes('} '));
    expect(received).toEqual([]);
    expect(refused.status().hasSynced).toBe(false);
  });
  it('a replaced certificate is served on the same port, and clients come back to it by themselves', async () => {
    // Clients check certificates by the machine's clock, so the turn of the key must be now.
    const parts = listener(Date.now() - 70 * DAY_MS);
    parts.server.setSnapshot(snapshot);
    parts.server.start();
    await until('listening', () => parts.server.notReady() === undefined);
    const { port } = parts.server;
    client(parts, 'n1', 'node-token');
    await until('acknowledged', () => parts.server.acknowledgements.status('n1', CLUSTER_TYPE_URL, 'reject/ai/front').kind === 'acked');
    const [stream] = parts.server.acknowledgements.streams();
    await parts.clock.advance(70 * DAY_MS);
    await until('a new stream', () => parts.server.acknowledgements.streams().some((one) => one.openedAtMs !== stream?.openedAtMs), parts.clock, 1_000);
    await until('acknowledged again', () => parts.server.acknowledgements.status('n1', CLUSTER_TYPE_URL, 'reject/ai/front').kind === 'acked');
    expect(parts.server.port).toBe(port);
  });
  it('without an API server it is not ready, and says why', async () => {
    const parts = listener();
    parts.kube.goAway();
    parts.server.start();
    await until('the reason', () => parts.server.notReady()?.includes('cannot be reached'));
    parts.kube.comeBack();
    await until('listening', () => parts.server.notReady() === undefined, parts.clock, 500);
  });
});
