import { status as GrpcStatus } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { FakeClock, until as eventually } from '#testing';

import { CDS, EDS, RawClient, snapshotOfNames, startTestServer, until } from './xds-testing.fixture.js';
import type { XdsServer, XdsServerOptions } from './xds-server.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(options: Partial<XdsServerOptions> = {}): Promise<XdsServer> {
  const server = await startTestServer(options);
  cleanups.push(() => server.close());
  return server;
}

function connect(server: XdsServer, authorization?: string): RawClient {
  const client = new RawClient(server.port, authorization);
  cleanups.push(() => client.close());
  return client;
}

/** A client that has acknowledged everything of a wildcard CDS stream. */
async function connectSettled(server: XdsServer): Promise<RawClient> {
  const client = connect(server);
  client.send(CDS, { nodeId: 'node-1', subscribe: ['*'] });
  client.send(CDS, { responseNonce: (await client.next()).nonce });
  return client;
}

const ackKind = (server: XdsServer, name: string, type: typeof CDS | typeof EDS = CDS): string => server.acknowledgements.status('node-1', type, name).kind;

describe('the delta rules of xDS', () => {
  it('rule 1: a nonce without error acknowledges, with error rejects with its message, and both may change subscriptions', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
    const client = connect(server);
    client.send(EDS, { nodeId: 'node-1', subscribe: ['a'] });
    const first = await client.next();
    expect(ackKind(server, 'a', EDS)).toBe('pending');
    client.send(EDS, { responseNonce: first.nonce, subscribe: ['b'] });
    const second = await client.next();
    expect(second.resources).toEqual(['b@1']);
    expect(server.acknowledgements.status('node-1', EDS, 'a')).toEqual({ kind: 'acked', version: '1' });
    client.send(EDS, { responseNonce: second.nonce, errorMessage: 'netlink: EINVAL', unsubscribe: ['a'] });
    await until(server, () => ackKind(server, 'b', EDS) === 'nacked');
    expect(server.acknowledgements.status('node-1', EDS, 'b')).toEqual({ kind: 'nacked', version: '1', message: 'netlink: EINVAL' });
    expect(ackKind(server, 'a', EDS)).toBe('unknown');
  });

  it('rule 2: subscriptions in a request with a stale nonce count; its acknowledgement does not', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
    const client = connect(server);
    client.send(EDS, { nodeId: 'node-1', subscribe: ['a'] });
    await client.next();
    client.send(EDS, { responseNonce: 'never-sent', subscribe: ['b'] });
    expect((await client.next()).resources).toEqual(['b@1']);
    expect(ackKind(server, 'a', EDS)).toBe('pending');
  });

  it('rule 3: a name asked for again is answered, and one that does not exist is answered as removed', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.send(EDS, { subscribe: ['a', 'nothing'] });
    expect(await client.next()).toMatchObject({ resources: ['a@1'], removed: ['nothing'] });
    client.send(EDS, { subscribe: ['a'] });
    expect(await client.next()).toMatchObject({ resources: ['a@1'], removed: [] });
  });

  it('rule 3: a name that did not exist is sent when it appears', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames([]));
    const client = connect(server);
    client.send(EDS, { subscribe: ['a'] });
    expect((await client.next()).removed).toEqual(['a']);
    server.setSnapshot(snapshotOfNames(['a@1']));
    expect((await client.next()).resources).toEqual(['a@1']);
  });

  it('rule 4: a reconnecting client gets the differences to what it has, and the removal of what vanished', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@2', 'c@1']));
    const client = connect(server);
    client.send(CDS, { subscribe: ['*'], initialResourceVersions: { a: '1', b: '1', gone: '1' } });
    expect(await client.next()).toMatchObject({ type: 'CDS', resources: ['b@2', 'c@1'], removed: ['gone'] });
    client.send(EDS, { subscribe: ['a', 'b', 'gone'], initialResourceVersions: { a: '1', b: '1', gone: '1' } });
    expect(await client.next()).toMatchObject({ type: 'EDS', resources: ['b@2'], removed: ['gone'] });
  });

  it('rule 4: a first request is answered even if nothing differs, and what the client has counts as acknowledged', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.send(CDS, { nodeId: 'node-1', subscribe: ['*'], initialResourceVersions: { a: '1' } });
    expect(await client.next()).toMatchObject({ resources: [], removed: [] });
    expect(server.acknowledgements.status('node-1', CDS, 'a')).toEqual({ kind: 'acked', version: '1' });
  });

  it('rule 5: an empty first list means everything until names are sent', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
    const client = connect(server);
    client.send(CDS);
    expect((await client.next()).resources).toEqual(['a@1', 'b@1']);
    client.send(CDS, { subscribe: ['a'] });
    expect((await client.next()).resources).toEqual(['a@1']);
    server.setSnapshot(snapshotOfNames(['a@1', 'b@2']));
    expect(await client.drained(CDS)).toEqual([]);
  });

  it('rule 5: a name given back while * covers it is answered with the resource, or with its removal', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.send(CDS, { subscribe: ['*', 'a', 'nothing'] });
    expect(await client.next()).toMatchObject({ resources: ['a@1'], removed: ['nothing'] });
    client.send(CDS, { unsubscribe: ['a'] });
    expect((await client.next()).resources).toEqual(['a@1']);
    client.send(CDS, { unsubscribe: ['nothing'] });
    expect((await client.next()).removed).toEqual(['nothing']);
  });

  it('rule 5: after * is given back only names are served', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
    const client = connect(server);
    client.send(CDS, { subscribe: ['*', 'a'] });
    client.send(CDS, { responseNonce: (await client.next()).nonce, unsubscribe: ['*'] });
    await client.drained(CDS);
    server.setSnapshot(snapshotOfNames(['a@2', 'b@2']));
    expect((await client.next()).resources).toEqual(['a@2']);
  });

  it('rule 6: the node is known from the first request on', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = await connectSettled(server);
    client.send(EDS, { subscribe: ['a'] });
    await client.next();
    expect(server.acknowledgements.streams().map((stream) => stream.nodeId)).toEqual(['node-1']);
    expect(ackKind(server, 'a', EDS)).toBe('pending');
  });

  it('rule 8: a resource that is covered twice is sent once', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.send(CDS, { subscribe: ['*', 'a', 'a'] });
    expect((await client.next()).resources).toEqual(['a@1']);
  });

  it('rule 9: clusters come before load assignments, removals last, and all of one snapshot hangs together', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['old@1', 'stays@1'], ['old@1', 'stays@1', 'new@1']));
    const client = await connectSettled(server);
    client.send(EDS, { subscribe: ['old', 'stays', 'new'] });
    client.send(EDS, { responseNonce: (await client.next()).nonce });
    server.setSnapshot(snapshotOfNames(['new@1', 'stays@1'], ['new@2', 'stays@2']));
    const round = [await client.next(), await client.next(), await client.next(), await client.next()];
    expect(round.map(({ type, resources, removed, doesMoreFollow }) => ({ type, resources, removed, doesMoreFollow }))).toEqual([
      { type: 'CDS', resources: ['new@1'], removed: [], doesMoreFollow: true },
      { type: 'EDS', resources: ['new@2', 'stays@2'], removed: [], doesMoreFollow: true },
      { type: 'CDS', resources: [], removed: ['old'], doesMoreFollow: true },
      { type: 'EDS', resources: [], removed: ['old'], doesMoreFollow: false },
    ]);
  });

  it('rule 11: nothing is answered before the first snapshot, and everything asked meanwhile is answered then', async () => {
    const server = await start();
    const client = connect(server);
    let requestCount = 0;
    server.acknowledgements.onChange(() => (requestCount += 1));
    client.send(CDS, { nodeId: 'node-1', subscribe: ['*'] });
    client.send(EDS, { subscribe: ['a'] });
    client.send(EDS, { subscribe: ['b'] });
    await until(server, () => requestCount === 3);
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
    expect(await client.next()).toMatchObject({ type: 'CDS', resources: ['a@1', 'b@1'] });
    expect(await client.next()).toMatchObject({ type: 'EDS', resources: ['a@1', 'b@1'] });
  });
});

describe('what a change costs', () => {
  it('only the changed resource is sent, to every stream', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1']));
    const clients = [await connectSettled(server), await connectSettled(server)];
    server.setSnapshot(snapshotOfNames(['a@1', 'b@2']));
    for (const client of clients) expect(await client.next()).toMatchObject({ resources: ['b@2'], removed: [] });
  });

  it('a client that has not acknowledged gets the sum of later changes in one round when it does', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1', 'b@1', 'c@1']));
    const client = await connectSettled(server);
    server.setSnapshot(snapshotOfNames(['a@2', 'b@1', 'c@1']));
    const held = await client.next();
    server.setSnapshot(snapshotOfNames(['a@3', 'b@1', 'c@1']));
    server.setSnapshot(snapshotOfNames(['a@4', 'b@2']));
    expect(await client.drained(CDS)).toEqual([]);
    client.send(CDS, { responseNonce: held.nonce });
    expect(await client.next()).toMatchObject({ resources: ['a@4', 'b@2'], removed: [], doesMoreFollow: true });
    expect(await client.next()).toMatchObject({ resources: [], removed: ['c'] });
  });

  it('what does not fit into one response is split, and the parts say that more follow', async () => {
    const server = await start({ limits: { responseBytesMax: 500 } });
    server.setSnapshot(snapshotOfNames(Array.from({ length: 10 }, (_, index) => `cluster-${index}@1`)));
    const client = connect(server);
    client.send(CDS, { subscribe: ['*'] });
    const names: string[] = [];
    let response = await client.next();
    for (; response.doesMoreFollow; response = await client.next()) names.push(...response.resources);
    names.push(...response.resources);
    expect(names).toHaveLength(10);
    expect(new Set(names).size).toBe(10);
  });
});

describe('who may have a stream', () => {
  it('a refused caller is told why, and nothing else', async () => {
    const server = await start({ authenticate: async ({ authorization }) => (authorization === 'Bearer good' ? { ok: true, identity: 'sa' } : { ok: false, message: 'no token of audience spillway-xds' }) });
    server.setSnapshot(snapshotOfNames(['a@1']));
    expect(await connect(server, 'Bearer bad').ended).toEqual({ code: GrpcStatus.UNAUTHENTICATED, details: 'no token of audience spillway-xds' });
    const good = connect(server, 'Bearer good');
    good.send(CDS, { nodeId: 'node-1' });
    expect((await good.next()).resources).toEqual(['a@1']);
    expect(server.acknowledgements.streams()).toMatchObject([{ identity: 'sa', nodeId: 'node-1' }]);
  });

  it('while nobody can tell who a caller is, it is sent away to try again', async () => {
    const server = await start({ authenticate: () => Promise.reject(new Error('api server away')) });
    expect(await connect(server).ended).toMatchObject({ code: GrpcStatus.UNAVAILABLE });
  });

  it('a caller may speak for its own node only', async () => {
    const server = await start({ authenticate: async () => ({ ok: true, identity: 'sa', nodeId: 'node-1' }) });
    const client = connect(server);
    client.send(CDS, { nodeId: 'node-2' });
    expect(await client.ended).toEqual({ code: GrpcStatus.PERMISSION_DENIED, details: 'sa may not speak for node node-2' });
    expect(server.acknowledgements.streams()).toEqual([]);
  });

  it('more streams than the limit are refused, and a stream that ends makes room', async () => {
    const server = await start({ limits: { streamsMax: 1 } });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const first = await connectSettled(server);
    expect(await connect(server).ended).toMatchObject({ code: GrpcStatus.RESOURCE_EXHAUSTED });
    first.close();
    await until(server, () => server.acknowledgements.streams().length === 0);
    await connectSettled(server);
  });

  it('more names than the limit end the stream', async () => {
    const server = await start({ limits: { namesMax: 2 } });
    const client = connect(server);
    client.send(EDS, { subscribe: ['a', 'b', 'c'] });
    expect(await client.ended).toMatchObject({ code: GrpcStatus.RESOURCE_EXHAUSTED });
  });

  it.each<{ readonly name: string; readonly ask: (client: RawClient) => void }>([
    { name: 'a giant name', ask: (client) => client.send(EDS, { subscribe: ['x'.repeat(2_000)] }) },
    { name: 'giant names that it says it has', ask: (client) => client.send(CDS, { initialResourceVersions: { ['x'.repeat(2_000)]: '1' } }) },
    { name: 'names given back before anything was served', ask: (client) => { client.send(CDS, { subscribe: ['*'] }); client.send(CDS, { unsubscribe: ['a', 'b', 'c'] }); } },
    { name: 'more versions than the limit', ask: (client) => client.send(CDS, { initialResourceVersions: { a: '1', b: '1', c: '1' } }) },
  ])('$name end the stream', async ({ ask }) => {
    const server = await start({ limits: { namesMax: 2 } });
    const client = connect(server);
    ask(client);
    expect(await client.ended).toMatchObject({ code: GrpcStatus.RESOURCE_EXHAUSTED });
  });

  it('a giant node id ends the stream', async () => {
    const client = connect(await start());
    client.send(CDS, { nodeId: 'x'.repeat(2_000) });
    expect(await client.ended).toMatchObject({ code: GrpcStatus.INVALID_ARGUMENT });
  });

  it('a client that rejects whatever it asks for is heard, in few words, and what it made up is not remembered', async () => {
    const server = await start({ limits: { namesMax: 3 } });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.send(EDS, { nodeId: 'node-1', subscribe: ['a'] });
    client.send(EDS, { responseNonce: (await client.next()).nonce, errorMessage: 'no'.repeat(10_000) });
    for (let index = 0; index < 10; index += 1) {
      client.send(EDS, { subscribe: [`made-up-${index}`] });
      const { nonce, removed } = await client.next();
      expect(removed).toEqual([`made-up-${index}`]);
      client.send(EDS, { responseNonce: nonce, errorMessage: 'no', unsubscribe: [`made-up-${index}`] });
    }
    const status = server.acknowledgements.status('node-1', EDS, 'a');
    expect(status.kind === 'nacked' && status.message.length).toBeLessThan(600);
  });

  it('the oldest stream of a node that opens one after another ends, and no other node’s', async () => {
    const server = await start({ limits: { streamsPerNodeMax: 2 }, authenticate: async ({ authorization }) => ({ ok: true, identity: 'sa', nodeId: authorization ?? '' }) });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const open = async (nodeId: string): Promise<RawClient> => {
      const client = connect(server, nodeId);
      client.send(CDS, { nodeId, subscribe: ['*'] });
      await client.next();
      return client;
    };
    const [other, oldest] = [await open('node-2'), await open('node-1')];
    await open('node-1');
    await open('node-1');
    expect(await oldest.ended).toMatchObject({ code: GrpcStatus.ABORTED });
    expect(server.acknowledgements.streams().map(({ nodeId }) => nodeId)).toEqual(['node-2', 'node-1', 'node-1']);
    expect(await other.drained(CDS)).toEqual([]);
  });

  it('a stream that is old must prove again who it is, and not all at the same time', async () => {
    const clock = new FakeClock();
    const server = await start({ clock, limits: { streamLifeMs: 1_000 } });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const clients = Array.from({ length: 8 }, () => connect(server));
    for (const [index, client] of clients.entries()) {
      client.send(CDS, { nodeId: `node-${index}`, subscribe: ['*'] });
      await client.next();
    }
    await clock.advance(1_000);
    const left = server.acknowledgements.streams().length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(8);
    await clock.advance(200);
    expect((await Promise.all(clients.map((client) => client.ended))).map(({ code }) => code)).toEqual(clients.map(() => GrpcStatus.UNAVAILABLE));
  });

  it('a client that asks without end is read no faster than its limit, and others are served meanwhile', async () => {
    const clock = new FakeClock();
    const registry = new Registry();
    const server = await start({ clock, registry, limits: { requestsAtOnce: 10, requestsPerSecond: 10 } });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const greedy = connect(server);
    for (let index = 0; index < 500; index += 1) greedy.send('type.test/none');
    const good = connect(server);
    good.send(CDS, { subscribe: ['*'] });
    expect((await good.next()).resources).toEqual(['a@1']);
    const requests = async (): Promise<number> => Number(/requests_total\{outcome="unknown-type"\} (\d+)/.exec(await registry.metrics())?.[1]);
    await eventually('the greedy one is not read from', async () => (await registry.metrics()).includes('spillway_xds_pauses_total 1'));
    expect(await requests()).toBeLessThan(50);
    await eventually('all of it is read in time', async () => (await requests()) === 500, clock, 1_000);
  });

  it('bytes that are no request end the stream, and the server lives on', async () => {
    const registry = new Registry();
    const server = await start({ registry });
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.sendBytes(Uint8Array.of(0xff, 0xff, 0xff));
    expect(await client.ended).toMatchObject({ code: GrpcStatus.INVALID_ARGUMENT });
    await connectSettled(server);
    expect(await registry.metrics()).toContain('spillway_xds_refused_streams_total{reason="invalid-request"} 1');
  });

  it('without TLS it serves loopback only', async () => {
    await expect(startTestServer({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'XDS_TLS_REQUIRED', kind: 'user' });
  });

  it('a type that is not served is not answered and does no harm', async () => {
    const server = await start();
    server.setSnapshot(snapshotOfNames(['a@1']));
    const client = connect(server);
    client.send('type.googleapis.com/envoy.config.listener.v3.Listener', { nodeId: 'node-1' });
    client.send(CDS, { subscribe: ['*'] });
    expect((await client.next()).type).toBe('CDS');
  });
});

it('a node without a stream is unknown again', async () => {
  const server = await start();
  server.setSnapshot(snapshotOfNames(['a@1']));
  const client = await connectSettled(server);
  await until(server, () => ackKind(server, 'a') === 'acked');
  client.close();
  await until(server, () => server.acknowledgements.streams().length === 0);
  expect(ackKind(server, 'a')).toBe('unknown');
});
