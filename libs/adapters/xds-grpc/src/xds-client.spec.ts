import 'reflect-metadata';

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';
import * as x509 from '@peculiar/x509';

import { encodeCluster, encodeLoadAssignment } from '#contracts/envoy';
import type { XdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, SystemClock } from '#platform';
import { FakeRandom } from '#testing';

import type { XdsClientLimits } from './client-limits.js';
import { readTextFile, startXdsClient, type XdsClient, type XdsClientOptions } from './xds-client.js';
import type { XdsServer, XdsServerOptions } from './xds-server.js';
import { CDS, EDS, Inbox, RawServer, snapshotOfNames, startTestServer, until } from './xds-testing.fixture.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startServer(options: Partial<XdsServerOptions> = {}): Promise<XdsServer> {
  const server = await startTestServer(options);
  cleanups.push(() => server.close());
  return server;
}

async function startRawServer(): Promise<RawServer & { readonly port: number }> {
  const server = new RawServer();
  const port = await server.listen();
  cleanups.push(() => server.close());
  return Object.assign(server, { port });
}

/** An update as a test sees it: the client waits until the test has decided. */
interface Update {
  readonly clusters: readonly string[];
  readonly loadAssignments: readonly string[];
  accept(): void;
  reject(message: string): void;
}

const short = (resources: readonly { readonly name: string; readonly version: string }[]): string[] => resources.map(({ name, version }) => `${name}@${version}`);

function startClient(port: number, options: Partial<XdsClientOptions> = {}): XdsClient & { readonly updates: Inbox<Update> } {
  const updates = new Inbox<Update>();
  const undecided: (() => void)[] = [];
  const onUpdate = (snapshot: XdsSnapshot): Promise<void> =>
    new Promise((resolve, reject) => {
      undecided.push(resolve);
      updates.put({ clusters: short(snapshot.clusters), loadAssignments: short(snapshot.loadAssignments), accept: resolve, reject: (message) => reject(new Error(message)) });
    });
  const client = startXdsClient({
    target: `127.0.0.1:${port}`,
    tls: undefined,
    readToken: undefined,
    nodeId: 'node-1',
    typeUrls: [CDS, EDS],
    onUpdate,
    clock: new SystemClock(),
    random: new FakeRandom(7),
    logger: createLogger({ app: 'test', level: 'silent' }),
    backoff: { firstMs: 5, maxMs: 20 },
    ...options,
  });
  cleanups.push(async () => {
    const closed = client.close();
    for (const accept of undecided) accept();
    await closed;
  });
  return Object.assign(client, { updates });
}

const cluster = (name: string, version = '1') => encodeCluster(snapshotOfNames([`${name}@${version}`]).clusters[0]!).bytes;
const assignment = (name: string, version = '1') => encodeLoadAssignment(snapshotOfNames([`${name}@${version}`]).loadAssignments[0]!).bytes;

describe('a consistent set', () => {
  it('is handed over only when every load assignment that its clusters name has arrived', async () => {
    const server = await startRawServer();
    const client = startClient(server.port);
    expect(await server.requests.next()).toMatchObject({ typeUrl: CDS, nodeId: 'node-1', subscribe: ['*'] });
    server.send({ typeUrl: CDS, nonce: 'c1', resources: [cluster('a'), cluster('b')] });
    expect(await server.requests.next()).toMatchObject({ typeUrl: EDS, nodeId: '', subscribe: ['a', 'b'] });
    server.send({ typeUrl: EDS, nonce: 'e1', resources: [assignment('a')] });
    server.send({ typeUrl: EDS, nonce: 'e2', resources: [assignment('b')] });
    const update = await client.updates.next();
    expect(update).toMatchObject({ clusters: ['a@1', 'b@1'], loadAssignments: ['a@1', 'b@1'] });
    update.accept();
    expect([await server.requests.next(), await server.requests.next(), await server.requests.next()].map(({ typeUrl, responseNonce, errorMessage }) => [typeUrl, responseNonce, errorMessage])).toEqual([
      [CDS, 'c1', undefined],
      [EDS, 'e1', undefined],
      [EDS, 'e2', undefined],
    ]);
    expect(client.updates.size).toBe(0);
  });

  it('counts a load assignment that the server says does not exist', async () => {
    const server = await startRawServer();
    const client = startClient(server.port);
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: 'c1', resources: [cluster('a')] });
    await server.requests.next();
    server.send({ typeUrl: EDS, nonce: 'e1', removed: ['a'] });
    expect(await client.updates.next()).toMatchObject({ clusters: ['a@1'], loadAssignments: [] });
  });

  it('waits for the responses that the server says follow', async () => {
    const server = await startServer();
    server.setSnapshot(snapshotOfNames(['old@1']));
    const client = startClient(server.port);
    (await client.updates.next()).accept();
    await until(server, () => server.acknowledgements.status('node-1', EDS, 'old').kind === 'acked');
    server.setSnapshot(snapshotOfNames(['new@1']));
    expect(await client.updates.next()).toMatchObject({ clusters: ['new@1'], loadAssignments: ['new@1'] });
  });

  it('of clusters alone asks for no load assignments', async () => {
    const server = await startServer();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = startClient(server.port, { typeUrls: [CDS] });
    const update = await client.updates.next();
    expect(update).toMatchObject({ clusters: ['a@1'], loadAssignments: [] });
    update.accept();
    await until(server, () => server.acknowledgements.status('node-1', CDS, 'a').kind === 'acked');
    expect(server.acknowledgements.status('node-1', EDS, 'a').kind).toBe('unknown');
  });

  it('that is empty is handed over too: no gateway is a state, not ignorance', async () => {
    const server = await startServer();
    server.setSnapshot(snapshotOfNames([]));
    const client = startClient(server.port);
    const update = await client.updates.next();
    expect(update).toMatchObject({ clusters: [], loadAssignments: [] });
    expect(client.status().hasSynced).toBe(false);
    update.accept();
    server.setSnapshot(snapshotOfNames(['a@1']));
    await client.updates.next();
    expect(client.status()).toMatchObject({ hasSynced: true, isConnected: true, disconnectedSinceMs: undefined });
  });
});

describe('acknowledgement', () => {
  it('is given when the update was applied, and not before', async () => {
    const server = await startServer();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = startClient(server.port);
    const update = await client.updates.next();
    expect(server.acknowledgements.status('node-1', EDS, 'a')).toEqual({ kind: 'pending', version: '1' });
    update.accept();
    await until(server, () => server.acknowledgements.status('node-1', EDS, 'a').kind === 'acked');
    expect(server.acknowledgements.status('node-1', CDS, 'a')).toEqual({ kind: 'acked', version: '1' });
  });

  it('is refused with the error of the update, tried again, and given when it works', async () => {
    const server = await startServer();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = startClient(server.port);
    (await client.updates.next()).reject('netlink: EBUSY');
    await until(server, () => server.acknowledgements.status('node-1', EDS, 'a').kind === 'nacked');
    expect(server.acknowledgements.status('node-1', CDS, 'a').kind).toBe('nacked');
    expect(server.acknowledgements.status('node-1', EDS, 'a')).toEqual({ kind: 'nacked', version: '1', message: 'netlink: EBUSY' });
    expect(client.status()).toMatchObject({ hasSynced: false, lastRejection: 'netlink: EBUSY' });
    const again = await client.updates.next();
    expect(again.clusters).toEqual(['a@1']);
    again.accept();
    await until(server, () => server.acknowledgements.status('node-1', CDS, 'a').kind === 'acked' && server.acknowledgements.status('node-1', EDS, 'a').kind === 'acked');
    expect(client.status()).toMatchObject({ hasSynced: true, lastRejection: undefined });
  });

  it('of a state that came while another was being applied is given together with it', async () => {
    const server = await startServer();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = startClient(server.port);
    const slow = await client.updates.next();
    server.setSnapshot(snapshotOfNames(['a@2']));
    server.setSnapshot(snapshotOfNames(['a@3']));
    slow.accept();
    for (let update = await client.updates.next(); ; update = await client.updates.next()) {
      update.accept();
      if (update.clusters[0] === 'a@3') break;
    }
    await until(server, () => server.acknowledgements.status('node-1', CDS, 'a').kind === 'acked');
    expect(server.acknowledgements.status('node-1', CDS, 'a').kind === 'acked' && client.updates.size).toBe(0);
  });

  it('is refused at once for a response that is malformed or names a resource twice, and the stream goes on', async () => {
    const server = await startRawServer();
    const client = startClient(server.port, { typeUrls: [CDS] });
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: '1', resources: [cluster('a'), cluster('a')] });
    expect(await server.requests.next()).toMatchObject({ responseNonce: '1', errorMessage: 'resource a appears twice in one response' });
    server.send({ typeUrl: CDS, nonce: '2', resources: [Uint8Array.of(0x12, 0x7f)] });
    expect(await server.requests.next()).toMatchObject({ responseNonce: '2', errorMessage: 'resource is not a valid Resource message' });
    server.send({ typeUrl: CDS, nonce: '3', resources: [assignment('a')] });
    expect(await server.requests.next()).toMatchObject({ responseNonce: '3', errorMessage: expect.stringContaining('in a response of') });
    server.send({ typeUrl: CDS, nonce: '4', resources: [cluster('a')] });
    (await client.updates.next()).accept();
    expect(await server.requests.next()).toMatchObject({ responseNonce: '4', errorMessage: undefined });
  });
});

describe('a server that goes away', () => {
  it('leaves the last state in force; the client resumes with what it has and gets only what changed', async () => {
    const first = await startTestServer();
    first.setSnapshot(snapshotOfNames(['same@1', 'changes@1', 'goes@1']));
    const client = startClient(first.port);
    (await client.updates.next()).accept();
    await until(first, () => first.acknowledgements.status('node-1', EDS, 'goes').kind === 'acked');
    await first.close();
    const second = await startServer({ port: first.port });
    await until(second, () => second.acknowledgements.streams().length === 1);
    expect(client.updates.size).toBe(0);
    second.setSnapshot(snapshotOfNames(['same@1', 'changes@2', 'comes@1']));
    const update = await client.updates.next();
    expect(update.clusters).toEqual(['changes@2', 'comes@1', 'same@1']);
    expect(second.acknowledgements.status('node-1', CDS, 'same')).toEqual({ kind: 'acked', version: '1' });
    update.accept();
    while (client.updates.size > 0) (await client.updates.next()).accept();
    await until(second, () => second.acknowledgements.status('node-1', EDS, 'comes').kind === 'acked');
  });

  it('and comes back with the same content changes nothing', async () => {
    const first = await startTestServer();
    first.setSnapshot(snapshotOfNames(['a@1']));
    const client = startClient(first.port);
    (await client.updates.next()).accept();
    await until(first, () => first.acknowledgements.status('node-1', EDS, 'a').kind === 'acked');
    await first.close();
    const second = await startServer({ port: first.port });
    second.setSnapshot(snapshotOfNames(['a@1']));
    await until(second, () => second.acknowledgements.status('node-1', EDS, 'a').kind === 'acked');
    expect(client.updates.size).toBe(0);
  });

  it('in the middle of a set is asked again for what was not applied', async () => {
    const server = await startRawServer();
    startClient(server.port);
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: 'c1', resources: [cluster('a')] });
    await server.requests.next();
    server.hangUp();
    expect(await server.requests.next()).toMatchObject({ typeUrl: CDS, subscribe: ['*'], initialResourceVersions: {} });
  });

  it('is tried for ever, with delays that double up to a cap and are jittered', async () => {
    const delays: number[] = [];
    const enough = new Inbox<void>();
    class NoWaitingClock extends SystemClock {
      override async sleep(ms: number): Promise<void> {
        delays.push(ms);
        if (delays.length === 8) enough.put();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const client = startClient(1, { clock: new NoWaitingClock(), backoff: { firstMs: 100, maxMs: 1_000 } });
    await enough.next();
    await client.close();
    [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000].forEach((full, index) => {
      expect(delays[index]).toBeGreaterThanOrEqual(full / 2);
      expect(delays[index]).toBeLessThanOrEqual(full);
    });
    expect(client.status()).toMatchObject({ isConnected: false, hasSynced: false });
  });
});

describe('credentials', () => {
  it('the token is read anew for each connection', async () => {
    const server = await startRawServer();
    const tokens = ['first', 'second'];
    startClient(server.port, { readToken: async () => tokens.shift() ?? 'none' });
    await server.requests.next();
    server.hangUp();
    await server.requests.next();
    expect(server.authorizations).toEqual(['Bearer first', 'Bearer second']);
  });

  it('the server is trusted by the CA in the file, which is read anew for each connection', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'xds-tls-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const caFile = join(folder, 'ca.crt');
    const [wrong, right] = [await certificate('wrong'), await certificate('xds.test')];
    writeFileSync(caFile, wrong.certPem);
    const server = await startServer({ tls: right });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const failed = new Inbox<void>();
    class NotingClock extends SystemClock {
      override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
        failed.put();
        await super.sleep(ms, signal);
      }
    }
    const client = startClient(server.port, { tls: { readCaPem: readTextFile(caFile), serverName: 'xds.test' }, clock: new NotingClock() });
    await failed.next();
    expect(client.status().isConnected).toBe(false);
    writeFileSync(caFile, right.certPem);
    expect((await client.updates.next()).clusters).toEqual(['a@1']);
  });
});

it('a change reaches a hundred clients, and all of them acknowledge it', async () => {
  const server = await startServer();
  server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
  const nodeIds = Array.from({ length: 100 }, (_, index) => `node-${index}`);
  for (const nodeId of nodeIds) startClient(server.port, { nodeId, onUpdate: async () => undefined });
  const areAllAt = (version: string): boolean =>
    nodeIds.every((nodeId) => {
      const status = server.acknowledgements.status(nodeId, EDS, 'b');
      return status.kind === 'acked' && status.version === version;
    });
  await until(server, () => areAllAt('1'));
  server.setSnapshot(snapshotOfNames(['a@1', 'b@1'], ['a@1', 'b@2']));
  expect(areAllAt('2')).toBe(false);
  await until(server, () => areAllAt('2'));
});

async function certificate(host: string): Promise<{ readonly certPem: string; readonly keyPem: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${host}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true), new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
  });
  const keyDer = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { certPem: made.toString('pem'), keyPem: `-----BEGIN PRIVATE KEY-----\n${keyDer.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n` };
}

describe('a server that means no good', () => {
  const FIRST = { typeUrl: CDS, nodeId: 'node-1', subscribe: ['*'] };

  it('and takes the call without ever answering is called anew', async () => {
    const server = await startRawServer();
    startClient(server.port, { limits: { answerMs: 50 } });
    expect([await server.requests.next(), await server.requests.next()]).toMatchObject([FIRST, FIRST]);
  });

  it.each<{ readonly name: string; readonly limits?: Partial<XdsClientLimits>; readonly spoil: (server: RawServer) => void }>([
    { name: 'sends bytes that are no response', spoil: (server) => server.sendBytes(Uint8Array.of(0xff, 0xff, 0xff)) },
    { name: 'answers and hangs up', spoil: (server) => { server.send({ typeUrl: CDS, nonce: '1' }); server.hangUp(); } },
    { name: 'sends one response after another that cannot be used', spoil: (server) => { for (let nonce = 0; nonce < 16; nonce += 1) server.send({ typeUrl: 'type.test/none', nonce: String(nonce) }); } },
    { name: 'never comes to the end of a set', limits: { gatheredBytesMax: 4_000 }, spoil: (server) => { for (let nonce = 0; nonce < 100; nonce += 1) server.send({ typeUrl: CDS, nonce: String(nonce), systemVersion: '1+', resources: [cluster(`c${nonce}`)] }); } },
    { name: 'does not wait for answers', limits: { unansweredMax: 10 }, spoil: (server) => { for (let nonce = 0; nonce < 100; nonce += 1) server.send({ typeUrl: CDS, nonce: String(nonce), systemVersion: '1+', resources: [cluster(`c${nonce}`)] }); } },
    { name: 'sends a response that is too large', limits: { responseBytesMax: 1_000 }, spoil: (server) => server.send({ typeUrl: CDS, nonce: '1', resources: [cluster('x'.repeat(2_000))] }) },
  ])('and $name is left, and asked ever more rarely', async ({ limits, spoil }) => {
    const delays: number[] = [];
    class NotingClock extends SystemClock {
      override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
        delays.push(ms);
        await super.sleep(ms, signal);
      }
    }
    const server = await startRawServer();
    const client = startClient(server.port, { typeUrls: [CDS], clock: new NotingClock(), backoff: { firstMs: 1, maxMs: 10_000 }, ...(limits === undefined ? {} : { limits }) });
    for (let attempt = 0; attempt < 7; attempt += 1) {
      for (let request = await server.requests.next(); request.nodeId === ''; ) request = await server.requests.next();
      spoil(server);
    }
    expect(client.status().hasSynced).toBe(false);
    expect(client.status().lostCount).toBeGreaterThanOrEqual(6);
    expect(delays.filter((ms) => ms >= 8)).not.toEqual([]);
  });

  it('and names more clusters than there can be is refused, in few words, and what it said before stays', async () => {
    const server = await startRawServer();
    const client = startClient(server.port, { typeUrls: [CDS], limits: { clustersMax: 2 } });
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: '1', resources: [cluster('a')] });
    (await client.updates.next()).accept();
    expect(await server.requests.next()).toMatchObject({ responseNonce: '1', errorMessage: undefined });
    server.send({ typeUrl: CDS, nonce: '2', resources: [cluster('b'), cluster('c')] });
    expect(await server.requests.next()).toMatchObject({ responseNonce: '2', errorMessage: '3 clusters are more than the 2 that this client takes' });
    server.send({ typeUrl: CDS, nonce: '3', resources: [cluster('x'.repeat(9_000)), cluster('x'.repeat(9_000))] });
    expect((await server.requests.next()).errorMessage?.length).toBeLessThan(600);
    server.send({ typeUrl: CDS, nonce: '4', resources: [cluster('b')], removed: ['never-there'] });
    expect((await client.updates.next()).clusters).toEqual(['a@1', 'b@1']);
  });
});

describe('a server that takes connections and says nothing', () => {
  // What a Service's address is while it leads to a pod that has gone: only a new connection can be led elsewhere.
  it('is tried anew on a new connection within seconds', async () => {
    let connections = 0;
    const server = createServer(() => {
      connections += 1;
    });
    const sockets = new Set<Socket>();
    server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    // Never used: the handshake does not get that far.
    const readCaPem = async (): Promise<string> => '';
    const secondConnection = new Promise<void>((resolve) => {
      server.on('connection', () => {
        if (connections >= 2) resolve();
      });
    });
    startClient((server.address() as AddressInfo).port, { tls: { readCaPem, serverName: 'spillway-spoke-controller.test' } });
    await secondConnection;
    expect(connections).toBeGreaterThanOrEqual(2);
  }, 30_000);
});
