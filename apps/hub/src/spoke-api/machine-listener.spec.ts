import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { issueHubServing, loadHubAuthority } from '#adapters/certificates';
import { clusterId } from '#domain/fleet';
import { createLogger, PeerDoor, SystemClock } from '#platform';
import { FakeClock, FakeFleetStore } from '#testing';

import { MachineListener } from './machine-listener.js';
import { createSpokeApiMetrics } from './spoke-api-metrics.js';
import { spokeApiError } from './spoke-api-errors.js';
import type { Admission } from './spoke-router.js';

const REPORT = '/spillway.spoke.v1.SpokeService/Report';
const MEMBER: Admission = { kind: 'caller', key: { keyId: 'k', clusterId: clusterId('east-1'), publicKey: '', notAfterMs: undefined } };
const LIMITS = { bodyTimeoutMs: 150, headerBytesMax: 16_384, headersTimeoutMs: 150, idleTimeoutMs: 60_000, streamsPerConnectionMax: 10 };
const DOOR = { connectionsMax: 100, connectionsPerSourceMax: 50, strangersPerSourceMax: 10, strangerMs: 300 };

const handler = Object.assign(async () => ({ status: 200, header: new Headers(), body: (async function* () {})() }), { method: { name: 'Report' } }) as unknown as UniversalHandler;

/** Judges by one header alone. */
async function admit(_path: string, authorization: string | undefined): Promise<Admission> {
  if (authorization === 'member') return MEMBER;
  throw spokeApiError('AUTH_MISSING', 'sign the call');
}

let listener: MachineListener;
let port: number;
let caPem: string;

beforeEach(async () => {
  const clock = new SystemClock();
  const authority = await loadHubAuthority(new FakeFleetStore(new FakeClock(clock.nowMs())).hubState, clock);
  caPem = authority.certificatePem;
  const certificate = await issueHubServing(authority, ['127.0.0.1'], clock.nowMs());
  const metrics = createSpokeApiMetrics(new Registry(), { longPolls: () => 0, lostHistory: () => 0, replayEntries: () => 0, viewSequence: () => 0n });
  listener = new MachineListener({ handlers: new Map([[REPORT, handler]]), admit, certificate, clock, logger: createLogger({ app: 'hub', level: 'silent' }), metrics, limits: LIMITS, door: new PeerDoor(DOOR) });
  port = await listener.listen('127.0.0.1', 0);
});
afterEach(async () => listener.close(0));

describe('connections of strangers', () => {
  const tls = (protocol: string): Socket => connectTls({ host: '127.0.0.1', port, ca: caPem, ALPNProtocols: [protocol] });
  const post = (authorization: string, body: string, length = body.length): string => `POST ${REPORT} HTTP/1.1\r\nHost: hub\r\nAuthorization: ${authorization}\r\nContent-Length: ${length}\r\n\r\n${body}`;

  it.each<{ readonly says: string; readonly open: () => Socket }>([
    { says: 'that never begins its handshake', open: () => connect(port, '127.0.0.1') },
    { says: 'that never calls over HTTP/1.1', open: () => tls('http/1.1') },
    { says: 'that never calls over HTTP/2', open: () => tls('h2') },
    { says: 'that sends its header byte by byte', open: () => tls('http/1.1').once('secureConnect', function (this: Socket) { this.write('POST /'); }) },
    { says: 'that sends its body byte by byte', open: () => tls('http/1.1').once('secureConnect', function (this: Socket) { this.write(post('member', '{', 10)); }) },
    { says: 'that only brings calls that are refused', open: () => tls('http/1.1').once('secureConnect', function (this: Socket) { this.write(post('nobody', '{}')); }) },
  ])('one $says is ended', async ({ open }) => {
    const socket = open();
    socket.on('error', () => undefined).resume();
    await once(socket, 'close');
    expect(socket.destroyed).toBe(true);
  });

  it('a member that has called keeps its connection', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: caPem });
    expect(await call(session)).toBe(200);
    // A stranger that came later is ended; by then the member would have been, too.
    const stranger = tls('h2');
    stranger.on('error', () => undefined).resume();
    await once(stranger, 'close');
    expect(session.closed || session.destroyed).toBe(false);
    expect(await call(session)).toBe(200);
    session.close();
  });
});

describe('a flood of connections from one source', () => {
  it('leaves a member its connection, and lets it open another', async () => {
    const member = connectHttp2(`https://127.0.0.1:${port}`, { ca: caPem });
    expect(await call(member)).toBe(200);
    const flood = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => undefined).resume());
    await Promise.all(flood.slice(0, 100).map(async (socket) => (socket.closed ? undefined : once(socket, 'close'))));
    const other = connectHttp2(`https://127.0.0.1:${port}`, { ca: caPem });
    expect(await call(other)).toBe(200);
    expect(await call(member)).toBe(200);
    for (const socket of flood) socket.destroy();
    member.close();
    other.close();
  });
});

async function call(session: ClientHttp2Session): Promise<number | undefined> {
  const stream = session.request({ ':method': 'POST', ':path': REPORT, authorization: 'member' });
  stream.end('{}');
  const [headers] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
  stream.resume();
  return headers[':status'];
}
