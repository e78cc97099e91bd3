import { afterEach, describe, expect, it } from '@jest/globals';

import { encodeCluster, encodeLoadAssignment } from '#contracts/envoy';
import { createLogger, SystemClock } from '#platform';
import { FakeRandom } from '#testing';

import { startXdsClient, type XdsClientOptions } from './xds-client.js';
import { CDS, EDS, Inbox, RawServer, snapshotOfNames } from './xds-testing.fixture.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startRawServer(): Promise<RawServer & { readonly port: number }> {
  const server = new RawServer();
  const port = await server.listen();
  cleanups.push(() => server.close());
  return Object.assign(server, { port });
}

/** A decision that the client waits for before it answers an update. */
interface Decision {
  accept(): void;
  reject(message: string): void;
}

function startClient(port: number, options: Partial<XdsClientOptions>): { readonly updates: Inbox<Decision> } {
  const updates = new Inbox<Decision>();
  const onUpdate = (): Promise<void> => new Promise((resolve, reject) => updates.put({ accept: resolve, reject: (message) => reject(new Error(message)) }));
  const logger = createLogger({ app: 'test', level: 'silent' });
  const client = startXdsClient({ target: `127.0.0.1:${port}`, tls: undefined, readToken: undefined, nodeId: 'node-1', typeUrls: [CDS, EDS], onUpdate, clock: new SystemClock(), random: new FakeRandom(7), logger, backoff: { firstMs: 5, maxMs: 20 }, ...options });
  cleanups.push(() => client.close());
  return { updates };
}

const cluster = (name: string) => encodeCluster(snapshotOfNames([`${name}@1`]).clusters[0]!).bytes;
const assignment = (name: string) => encodeLoadAssignment(snapshotOfNames([`${name}@1`]).loadAssignments[0]!).bytes;

describe('whether the client has all that the server says', () => {
  it('is so once the first set was applied, and after a reconnect once both types were answered', async () => {
    const server = await startRawServer();
    const said: boolean[] = [];
    const client = startClient(server.port, { onCurrent: (isCurrent) => said.push(isCurrent) });
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: '1', resources: [cluster('a')] });
    await server.requests.next();
    server.send({ typeUrl: EDS, nonce: '2', resources: [assignment('a')] });
    const update = await client.updates.next();
    expect(said).toEqual([]);
    update.accept();
    await server.requests.next();
    expect(said.splice(0)).toEqual([true]);
    await server.requests.next();
    server.hangUp();
    await server.requests.next();
    await server.requests.next();
    expect(said.splice(0)).toEqual([false]);
    server.send({ typeUrl: CDS, nonce: '3' });
    expect(await server.requests.next()).toMatchObject({ responseNonce: '3' });
    expect(said.splice(0)).toEqual([false]);
    server.send({ typeUrl: EDS, nonce: '4' });
    expect(await server.requests.next()).toMatchObject({ responseNonce: '4' });
    expect(said.splice(0)).toEqual([true]);
  });

  it('is not so while something was rejected or could not be read', async () => {
    const server = await startRawServer();
    const said: boolean[] = [];
    const client = startClient(server.port, { typeUrls: [CDS], onCurrent: (isCurrent) => said.push(isCurrent) });
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: '1', resources: [cluster('a')] });
    (await client.updates.next()).reject('no');
    expect(await server.requests.next()).toMatchObject({ errorMessage: 'no' });
    expect(said.splice(0)).toEqual([false]);
    (await client.updates.next()).accept();
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: '2', resources: [cluster('a')] });
    await server.requests.next();
    expect(said.splice(0)).toEqual([true]);
    server.send({ typeUrl: CDS, nonce: '3', resources: [Uint8Array.of(0x12, 0x7f)] });
    await server.requests.next();
    server.send({ typeUrl: CDS, nonce: '4', resources: [cluster('b')] });
    (await client.updates.next()).accept();
    await server.requests.next();
    expect(said).toEqual([false, false]);
  });
});
