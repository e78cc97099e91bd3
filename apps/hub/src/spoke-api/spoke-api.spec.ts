import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:https';

import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';
import { Registry } from 'prom-client';

import { HttpHubLink } from '#adapters/hub-link';
import { encodeJoinToken, parseJoinToken, ReportRequestSchema, SpokeService } from '#contracts/spoke-api';
import { backendName, clusterId, type ClusterId, FleetError, type MemberBackend, memberBackendDigest, reachDigest, type ReachReport, reportDigest } from '#domain/fleet';
import { planBackend, planFleet, planPaths } from '#domain/sameness';
import { createLogger } from '#platform';
import type { HubReport, SpokeIdentity, SyncCursor } from '#ports';
import { aPolicy, aReach, FakeClock, FakeFleetStore, readyEndpoints, until } from '#testing';

import { FleetViewFollower } from '../fleet-view/fleet-view-follower.js';
import { type SpokeApi, type SpokeApiSettings, startSpokeApi } from './start-spoke-api.js';

const EAST = clusterId('east-1');
const WEST = clusterId('west-1');
const MODEL = backendName('ai', 'model');

const newKey = (): string => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const backend = (count: number, over: Partial<MemberBackend> = {}): MemberBackend => ({
  name: MODEL,
  trafficClass: 'endpoints',
  sessionAffinity: 'None',
  ports: [{ port: 80, protocol: 'TCP' }],
  endpoints: readyEndpoints(count),
  capacity: { unit: 'Requests', perEndpoint: 100 },
  ...over,
});

const fullReport = (...backends: MemberBackend[]): HubReport => ({ full: true, changed: backends, removed: [], digest: reportDigest(new Map(backends.map((part) => [part.name, memberBackendDigest(part)]))), applied: undefined });

/** A hub of one or more replicas over one store, and spokes that call them over real TLS. */
class Hub {
  readonly clock: FakeClock;
  readonly store: FakeFleetStore;
  readonly registry = new Registry();
  readonly #links = new Map<string, HttpHubLink>();
  readonly #running: { follower: FleetViewFollower; api: SpokeApi }[] = [];
  api!: SpokeApi;

  constructor(startMs = Date.now()) {
    this.clock = new FakeClock(startMs);
    this.store = new FakeFleetStore(this.clock);
  }

  async start(settings: Partial<SpokeApiSettings> = {}, registry = this.registry): Promise<SpokeApi> {
    const logger = createLogger({ app: 'hub', level: 'silent' });
    const follower = await FleetViewFollower.start({ changeLog: this.store.changeLog, clock: this.clock, logger });
    const api = await startSpokeApi({ store: this.store, follower, planner: { planFleet, planBackend, planPaths }, clock: this.clock, logger, registry, host: '127.0.0.1', port: 0, certificateHosts: [], settings });
    this.#running.push({ follower, api });
    this.api = api;
    return api;
  }

  async stop(): Promise<void> {
    for (const { follower, api } of this.#running.splice(0)) {
      await api.close();
      await follower.close();
    }
  }

  /** Each spoke has a link of its own, as each is a process of its own. */
  linkOf(id: string): HttpHubLink {
    const link = this.#links.get(id) ?? new HttpHubLink({ clock: this.clock, version: '0.1.0' });
    this.#links.set(id, link);
    return link;
  }

  async report(identity: SpokeIdentity, report: HubReport) {
    return this.linkOf(identity.clusterId).report(identity, report);
  }

  async enrol(request: Parameters<HttpHubLink['enrol']>[0]) {
    return this.linkOf('enrolling').enrol(request);
  }

  async close(): Promise<void> {
    for (const link of this.#links.values()) link.close();
    await this.stop();
  }

  async token(id: ClusterId, over: { replace?: boolean; ttlMs?: number; hubUrl?: string } = {}): Promise<string> {
    const secret = randomBytes(32).toString('base64url');
    const tokenHash = createHash('sha256').update(secret).digest('hex');
    await this.store.enrolment.createJoinToken({ clusterId: id, tokenHash, expiresAtMs: this.clock.nowMs() + (over.ttlMs ?? 60_000), replace: over.replace ?? false }, 'ada');
    return encodeJoinToken({ hubUrl: over.hubUrl ?? this.api.url, caFingerprint: this.api.caFingerprint, clusterId: id, secret });
  }

  async register(id: ClusterId): Promise<void> {
    await this.store.membership.register({ id, labels: {}, region: id, zone: `${id}-a`, network: 'flat', credential: undefined }, 'ada');
  }

  async member(id: ClusterId, ...backends: MemberBackend[]): Promise<SpokeIdentity> {
    return this.join(id, fullReport(...backends));
  }

  async join(id: ClusterId, report: HubReport): Promise<SpokeIdentity> {
    await this.register(id);
    const identity = await this.enrol({ joinToken: await this.token(id), privateKeyPem: newKey(), clusterUid: `uid-${id}` });
    await this.report(identity, report);
    return identity;
  }

  async sync(identity: SpokeIdentity, cursor?: SyncCursor, waitMs = 0) {
    return this.linkOf(identity.clusterId).sync(identity, cursor, waitMs, new AbortController().signal);
  }

  async metric(name: string): Promise<string> {
    return (await this.registry.metrics()).split('\n').filter((line) => line.startsWith(name)).join('\n');
  }
}

const codeOf = async (call: Promise<unknown>): Promise<string> => call.then(
  () => 'none',
  (error: unknown) => (error instanceof FleetError ? error.code : String(error)),
);

interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** One HTTPS call as curl makes it. */
async function rawCall(hub: Hub, method: string, body: Uint8Array | string, headers: Record<string, string> = {}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${hub.api.url}/spillway.spoke.v1.SpokeService/${method}`, { method: 'POST', ca: hub.api.caBundlePem, agent: false, headers: { 'content-type': 'application/json', ...headers } });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    outgoing.end(body);
  });
}

async function sign(identity: SpokeIdentity, body: Uint8Array | string, over: { nowMs: number; lifeS?: number; audience?: string; issuer?: string; jti?: string; key?: string; kid?: string }): Promise<string> {
  const iat = Math.floor(over.nowMs / 1_000);
  return new SignJWT({ bsha: createHash('sha256').update(body).digest('base64url') })
    .setProtectedHeader({ alg: 'EdDSA', kid: over.kid ?? identity.keyId })
    .setIssuer(over.issuer ?? identity.clusterId)
    .setSubject(over.issuer ?? identity.clusterId)
    .setAudience(over.audience ?? identity.audience)
    .setIssuedAt(iat)
    .setExpirationTime(iat + (over.lifeS ?? 30))
    .setJti(over.jti ?? randomUUID())
    .sign(createPrivateKey(over.key ?? identity.privateKeyPem));
}

let hub: Hub;
beforeEach(async () => {
  hub = new Hub();
  await hub.start();
});
afterEach(() => hub.close());

describe('enrolment', () => {
  it('a spoke that has only the join token comes to trust the hub, and is bound once', async () => {
    await hub.register(EAST);
    const request = { joinToken: await hub.token(EAST), privateKeyPem: newKey(), clusterUid: 'uid-1' };
    const identity = await hub.enrol(request);
    expect(identity).toMatchObject({ clusterId: EAST, hubUrl: hub.api.url, caBundlePem: hub.api.caBundlePem });
    expect(await hub.enrol(request)).toEqual(identity);
    expect(await codeOf(hub.enrol({ ...request, privateKeyPem: newKey() }))).toBe('HUB_TOKEN_USED');
  });

  it.each([
    { name: 'an expired token', want: 'HUB_TOKEN_EXPIRED', token: () => hub.token(EAST, { ttlMs: -1 }) },
    { name: "another hub's token", want: 'HUB_TLS', token: async () => encodeJoinToken({ ...parseJoinToken(await hub.token(EAST))!, caFingerprint: 'a'.repeat(64) }) },
    { name: 'a token with another secret', want: 'HUB_TOKEN_FOREIGN', token: async () => encodeJoinToken({ ...parseJoinToken(await hub.token(EAST))!, secret: randomBytes(32).toString('base64url') }) },
    { name: 'a token for another name', want: 'HUB_TOKEN_FOREIGN', token: async () => encodeJoinToken({ ...parseJoinToken(await hub.token(EAST))!, clusterId: WEST }) },
    { name: 'a token that was cut off', want: 'HUB_TOKEN_FOREIGN', token: async () => (await hub.token(EAST)).slice(0, -30) },
  ])('$name binds nothing', async ({ token, want }) => {
    await hub.register(EAST);
    expect(await codeOf(hub.enrol({ joinToken: await token(), privateKeyPem: newKey(), clusterUid: 'uid-1' }))).toBe(want);
    expect((await hub.store.membership.find(EAST))?.cluster.uid).toBe('');
  });

  it('the same uid under a second name, and another uid under a bound name, are refused with what to do', async () => {
    await hub.member(EAST);
    await hub.register(WEST);
    const twice = hub.enrol({ joinToken: await hub.token(WEST), privateKeyPem: newKey(), clusterUid: 'uid-east-1' });
    await expect(twice).rejects.toMatchObject({ code: 'HUB_UID_TAKEN', message: expect.stringMatching(/ENROL_UID_TAKEN.*under the name east-1; remove that first/) });
    const taken = hub.enrol({ joinToken: await hub.token(EAST), privateKeyPem: newKey(), clusterUid: 'uid-other' });
    await expect(taken).rejects.toMatchObject({ code: 'HUB_NAME_TAKEN', message: expect.stringMatching(/ENROL_NAME_TAKEN.*replace/) });
    const replaced = await hub.enrol({ joinToken: await hub.token(EAST, { replace: true }), privateKeyPem: newKey(), clusterUid: 'uid-other' });
    expect(replaced.clusterId).toBe(EAST);
  });

  it('a malformed enrolment names each field', async () => {
    const answer = await rawCall(hub, 'Enrol', JSON.stringify({ joinToken: 'x', publicKey: 'AA==', clusterUid: '' }));
    expect(answer).toMatchObject({ status: 400, headers: { 'spillway-error-code': 'INVALID_ENROLMENT' } });
    for (const field of ['joinToken', 'publicKey', 'clusterUid']) expect(answer.body).toContain(field);
  });
});

describe('authentication', () => {
  it('a key that the hub does not know is told so, as after an empty database or a removal', async () => {
    const identity = await hub.member(EAST);
    await hub.store.membership.remove(EAST, { by: 'worker', fence: undefined });
    expect(await codeOf(hub.report(identity, fullReport()))).toBe('HUB_UNKNOWN_MEMBER');
    expect(await codeOf(hub.sync(identity))).toBe('HUB_UNKNOWN_MEMBER');
  });

  it('a spoke whose clock is two hours off still works, and both ends know the offset', async () => {
    const identity = await hub.member(EAST);
    const spokeClock = new FakeClock(hub.clock.nowMs() - 2 * 3_600_000);
    const link = new HttpHubLink({ clock: spokeClock, version: '0.1.0' });
    try {
      expect(await link.report(identity, fullReport(backend(1)))).toEqual({ resendFull: false, intervalMs: 5_000 });
      expect(link.clockOffsetMs()).toBe(2 * 3_600_000);
      expect((await hub.store.membership.find(EAST))?.spoke?.clockSkewMs).toBe(-2 * 3_600_000);
      await until('the refusal is counted', async () => (await hub.metric('spillway_hub_spoke_calls_total')).includes('outcome="AUTH_TIME"} 1'));
    } finally {
      link.close();
    }
  });

  it('a rotated key works at once, and the old one until the overlap is over', async () => {
    const identity = await hub.member(EAST);
    const nextKey = newKey();
    const next = await hub.linkOf(EAST).rotateKey(identity, nextKey);
    expect(await hub.report(next, fullReport())).toMatchObject({ resendFull: false });
    expect(await hub.report(identity, fullReport())).toMatchObject({ resendFull: false });
    await hub.clock.advance(11 * 60_000);
    expect(await codeOf(hub.report(identity, fullReport()))).toBe('HUB_UNKNOWN_MEMBER');
    expect(await hub.report(next, fullReport())).toMatchObject({ resendFull: false });
    // Whoever lost the answer asks again, though its key has ended.
    expect(await hub.linkOf(EAST).rotateKey(identity, nextKey)).toEqual(next);
  });

  it('a key that is none is refused, with a code that is not about a report', async () => {
    const identity = await hub.member(EAST);
    const body = JSON.stringify({ newPublicKey: 'AAAA' });
    const answer = await rawCall(hub, 'RotateKey', body, { authorization: `Bearer ${await sign(identity, body, { nowMs: hub.clock.nowMs() })}` });
    expect(answer).toMatchObject({ status: 400, headers: { 'spillway-error-code': 'INVALID_ENROLMENT' } });
  });

  it.each([
    { name: 'no token', want: 'AUTH_MISSING', status: 401, header: async () => '' },
    { name: 'a token over another body', want: 'AUTH_INVALID', status: 401, header: (identity: SpokeIdentity) => sign(identity, 'other', { nowMs: hub.clock.nowMs() }) },
    { name: 'a token for another audience', want: 'AUTH_INVALID', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs(), audience: 'other-hub' }) },
    { name: 'a token of another issuer', want: 'AUTH_INVALID', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs(), issuer: WEST }) },
    { name: 'a token by another key', want: 'AUTH_INVALID', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs(), key: newKey() }) },
    { name: 'a token that lives too long', want: 'AUTH_INVALID', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs(), lifeS: 3_600 }) },
    { name: 'a token of an hour ago', want: 'AUTH_TIME', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs() - 3_600_000 }) },
    { name: 'a token of the next hour', want: 'AUTH_TIME', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs() + 3_600_000 }) },
    { name: 'a token of an unknown key', want: 'UNKNOWN_MEMBER', status: 401, header: (identity: SpokeIdentity) => sign(identity, '{}', { nowMs: hub.clock.nowMs(), kid: 'nobody' }) },
  ])('$name is refused, and the answer carries the hub clock', async ({ header, want, status }) => {
    const identity = await hub.member(EAST);
    const answer = await rawCall(hub, 'Sync', '{}', { authorization: `Bearer ${await header(identity)}` });
    expect(answer).toMatchObject({ status, headers: { 'spillway-error-code': want, 'spillway-hub-time-ms': String(hub.clock.nowMs()) } });
  });

  it('a token is good for one call', async () => {
    const identity = await hub.member(EAST);
    const authorization = `Bearer ${await sign(identity, '{}', { nowMs: hub.clock.nowMs() })}`;
    expect((await rawCall(hub, 'Sync', '{}', { authorization })).status).toBe(200);
    expect((await rawCall(hub, 'Sync', '{}', { authorization })).headers['spillway-error-code']).toBe('AUTH_REPLAYED');
  });

  it('gRPC and Connect JSON callers get the same answers and the same codes', async () => {
    const identity = await hub.member(EAST, backend(1));
    const client = createClient(SpokeService, createGrpcTransport({ baseUrl: hub.api.url, nodeOptions: { ca: hub.api.caBundlePem } }));
    const error = await client.sync({}).then(() => undefined, (caught: unknown) => ConnectError.from(caught));
    expect(error).toMatchObject({ code: Code.Unauthenticated });
    expect(error?.metadata.get('spillway-error-code')).toBe('AUTH_MISSING');
    expect(error?.metadata.get('spillway-hub-time-ms')).toBe(String(hub.clock.nowMs()));
    // A gRPC body is the message behind a prefix of five bytes; both are signed.
    const framed = Buffer.alloc(5);
    const synced = await client.sync({}, { headers: { authorization: `Bearer ${await sign(identity, framed, { nowMs: hub.clock.nowMs() })}` } });
    const json = await rawCall(hub, 'Sync', '{}', { authorization: `Bearer ${await sign(identity, '{}', { nowMs: hub.clock.nowMs() })}` });
    expect(JSON.parse(json.body)).toMatchObject({ epoch: synced.epoch, full: true, complete: true });
    expect(synced.changed.map((resource) => resource.name)).toEqual(['ca-bundle', 'paths', 'backend/ai/model']);
  });
});

describe('reports', () => {
  it("a report for another cluster is refused and changes nothing", async () => {
    const identity = await hub.member(EAST, backend(1));
    await hub.member(WEST);
    const body = JSON.stringify({ clusterId: WEST, full: true, changed: [], digest: reportDigest(new Map()) });
    const answer = await rawCall(hub, 'Report', body, { authorization: `Bearer ${await sign(identity, body, { nowMs: hub.clock.nowMs() })}` });
    expect(answer).toMatchObject({ status: 403, headers: { 'spillway-error-code': 'AUTH_OTHER_CLUSTER' } });
    expect((await hub.store.changeLog.loadView()).view.parts.get(MODEL)).toHaveLength(1);
  });

  it.each([
    { name: 'an unknown enum value', part: { trafficClass: 42, name: 'ai/model' }, want: 'changed[0].trafficClass' },
    { name: 'a name that is none', part: { name: 'AI/model' }, want: 'changed[0].name' },
    { name: 'an address that is none', part: { name: 'ai/model', endpoints: [{ address: 'localhost', targetPorts: [1] }] }, want: 'changed[0].endpoints[0].address' },
    { name: 'too many endpoints', part: { name: 'ai/model', endpoints: Array.from({ length: 5_001 }, () => ({ address: '10.1.0.1', targetPorts: [1] })) }, want: 'changed[0].endpoints' },
  ])('$name is refused by its field, and nothing is written', async ({ part, want }) => {
    const identity = await hub.member(EAST);
    const head = await hub.store.changeLog.head();
    const whole = { trafficClass: 1, sessionAffinity: 1, workUnit: 1, capacityPerEndpoint: 1, ports: [{ port: 80, protocol: 1 }], ...part };
    const body = toBinary(ReportRequestSchema, create(ReportRequestSchema, { clusterId: EAST, full: true, digest: '0'.repeat(32), changed: [whole] }));
    const answer = await rawCall(hub, 'Report', body, { 'content-type': 'application/proto', authorization: `Bearer ${await sign(identity, body, { nowMs: hub.clock.nowMs() })}` });
    expect(answer).toMatchObject({ status: 400, headers: { 'spillway-error-code': 'INVALID_REPORT' } });
    expect(answer.body).toContain(want);
    expect(await hub.store.changeLog.head()).toEqual(head);
  });

  it('an enum name that JSON does not know is refused by its field', async () => {
    const identity = await hub.member(EAST);
    const part = { name: 'ai/model', trafficClass: 'TRAFFIC_CLASS_ENDPOINTS', sessionAffinity: 'SESSION_AFFINITY_NONE', workUnit: 'WORK_UNIT_REQUESTS', capacityPerEndpoint: 1, ports: [{ port: 80, protocol: 'PROTOCOL_SCTP' }] };
    const body = JSON.stringify({ clusterId: EAST, full: true, digest: '0'.repeat(32), changed: [part] });
    const answer = await rawCall(hub, 'Report', body, { authorization: `Bearer ${await sign(identity, body, { nowMs: hub.clock.nowMs() })}` });
    expect(answer).toMatchObject({ status: 400, headers: { 'spillway-error-code': 'INVALID_REPORT' } });
    expect((JSON.parse(answer.body) as { message: string }).message).toBe('changed[0].ports[0].protocol: value 0 is not known to this hub; it knows TCP, UDP (ENUM_UNKNOWN)');
  });

  it('2,001 backends are refused', async () => {
    const identity = await hub.member(EAST);
    const many = Array.from({ length: 2_001 }, (_, index) => backend(0, { name: backendName('ai', `b${index}`) }));
    expect(await codeOf(hub.report(identity, fullReport(...many)))).toBe('HUB_INVALID_REPORT');
  });

  it.each([
    { method: 'Report', bytes: 8 * 1024 * 1024 + 1 },
    { method: 'Sync', bytes: 64 * 1024 + 1 },
    { method: 'Enrol', bytes: 64 * 1024 + 1 },
  ])('a $method body over its limit is refused', async ({ method, bytes }) => {
    const identity = await hub.member(EAST);
    const body = Buffer.alloc(bytes, 0x20);
    const answer = await rawCall(hub, method, body, { authorization: `Bearer ${await sign(identity, body, { nowMs: hub.clock.nowMs() })}` });
    expect(answer.headers['spillway-error-code']).toBe('BODY_TOO_LARGE');
  });

  it('a digest that differs asks for everything', async () => {
    const identity = await hub.member(EAST, backend(1));
    expect(await hub.report(identity, { ...fullReport(backend(2)), full: false, changed: [] })).toMatchObject({ resendFull: true });
    expect(await hub.report(identity, { ...fullReport(backend(2)), full: false })).toMatchObject({ resendFull: false });
  });
});

describe('sync', () => {
  it('the first answer is everything, complete once every member has told everything', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    await hub.member(EAST, backend(2));
    const west = await hub.member(WEST);
    await hub.register(clusterId('north-1'));
    const first = await hub.sync(west);
    expect(first).toMatchObject({ full: true, complete: false, caBundlePem: hub.api.caBundlePem });
    expect(first.changed[0]?.backend.providers.map((provider) => [provider.clusterId, provider.endpoints.length])).toEqual([[EAST, 2]]);
    await hub.store.reports.judge([{ clusterId: clusterId('north-1'), freshness: 'stale', lastReportAtMs: undefined }], undefined);
    await until('the full state is complete', async () => (await hub.sync(west)).complete);
  });

  it.each([
    { first: 'the one that was first', order: [WEST, EAST] },
    { first: 'the one that was second', order: [EAST, WEST] },
  ])('a hub over an empty database keeps the winner of a conflict, although a newcomer and then $first report before the others', async ({ order }) => {
    const offers = [[WEST, backend(1, { trafficClass: 'external' })], [EAST, backend(2)]] as const;
    const winners = async (at: Hub, identity: SpokeIdentity) => (await at.sync(identity)).changed.flatMap(({ backend: told }) => told.conflicts.map(({ winner }) => winner));
    const reports = new Map<ClusterId, HubReport>();
    await hub.store.policies.save(aPolicy(), 'ada');
    const members: [SpokeIdentity, MemberBackend][] = [];
    for (const [id, offer] of offers) members.push([await hub.member(id, offer), offer]);
    for (const [identity, offer] of members) {
      expect(await winners(hub, identity)).toEqual([WEST]);
      // What a spoke keeps of the hub that is lost, and repeats.
      const places = (await hub.sync(identity)).changed.flatMap(({ backend: { name }, firstSeen }) => (firstSeen === undefined ? [] : [[name, firstSeen] as const]));
      reports.set(identity.clusterId, { ...fullReport(offer), firstSeen: new Map(places) });
    }
    const rebuilt = new Hub(hub.clock.nowMs() + 1_000);
    await rebuilt.start();
    await rebuilt.store.policies.save(aPolicy(), 'ada');
    const newcomer = await rebuilt.member(clusterId('a-new-1'), backend(3));
    for (const id of order) await rebuilt.join(id, reports.get(id) ?? fullReport());
    expect(await winners(rebuilt, newcomer)).toEqual([WEST]);
    await rebuilt.close();
  });

  it('a waiting call hears of a change at once, and of nothing else', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1), backend(1, { name: backendName('secret', 'db') }));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    const waiting = hub.sync(west, cursor, 30_000);
    await until('the call waits', async () => (await hub.metric('spillway_hub_spoke_long_polls')).endsWith(' 1'));
    await hub.report(east, fullReport(backend(1), backend(2, { name: backendName('secret', 'db') })));
    await hub.report(east, fullReport(backend(3), backend(2, { name: backendName('secret', 'db') })));
    const answer = await waiting;
    expect(answer).toMatchObject({ full: false, removed: [] });
    expect(answer.changed.map((resource) => resource.name)).toEqual(['backend/ai/model']);
    expect(answer.changed[0]?.backend.providers[0]?.endpoints).toHaveLength(3);
    expect(answer.cursor.sequence).toBeGreaterThan(cursor.sequence);
  });

  it('a wait without news ends with nothing changed and a cursor that moved on', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    await hub.report(east, fullReport(backend(1), backend(2, { name: backendName('secret', 'db') })));
    let isOver = false;
    const waiting = hub.sync(west, cursor, 1_000).finally(() => {
      isOver = true;
    });
    await until('the wait is over', () => isOver, hub.clock);
    const answer = await waiting;
    expect(answer).toMatchObject({ full: false, changed: [], removed: [], cursor: { epoch: cursor.epoch } });
    expect(answer.cursor.sequence).toBeGreaterThan(cursor.sequence);
  });

  it('a backend that is withdrawn is named as removed', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    await hub.report(east, fullReport());
    expect(await hub.sync(west, cursor, 10_000)).toMatchObject({ full: false, removed: ['backend/ai/model'], changed: [] });
  });

  it('a provider hears which gateway ports to open for whom, and a consumer where to call, each as it changes', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(2));
    const west = await hub.member(WEST);
    await hub.store.membership.update(WEST, { network: 'far' }, 'ada');
    const reachOf = (address: string): ReachReport => {
      const reach = aReach({ gateways: [address], egress: [address] });
      return { digest: reachDigest(reach), changed: reach, gatewayPorts: [] };
    };
    await hub.report(west, { ...fullReport(), reach: reachOf('203.0.113.2') });
    const [before, told] = [await hub.sync(east), await hub.sync(west)];
    expect(before.paths?.paths).toEqual({ intake: { openings: [], callers: [] }, peers: [] });
    expect(told.changed[0]?.backend).toMatchObject({ providers: [], refusals: [expect.stringContaining('has no gateway')] });

    await hub.report(east, { ...fullReport(backend(2)), reach: reachOf('203.0.113.1') });
    const opened = await hub.sync(east, before.cursor, 10_000);
    expect(opened.paths?.paths.intake).toEqual({
      openings: [{ gatewayPort: 20_000, backend: MODEL, port: { port: 80, protocol: 'TCP' }, callers: [WEST] }],
      callers: [{ clusterId: WEST, addresses: ['203.0.113.2'] }],
    });
    const called = await hub.sync(west, told.cursor, 10_000);
    expect(called.changed[0]?.backend.providers).toMatchObject([{ path: 'gateway', readyAssumed: 2, endpoints: [{ address: '203.0.113.1', targetPorts: [20_000] }] }]);
    expect(called.paths?.paths.peers).toEqual([{ clusterId: EAST, path: 'gateway', addresses: ['203.0.113.1'], port: 9091 }]);

    // An endpoint more is news to the consumer's shares, and to nobody's paths.
    await hub.report(east, { ...fullReport(backend(3)), reach: reachOf('203.0.113.1') });
    const grown = await hub.sync(west, called.cursor, 10_000);
    expect([grown.changed.length, grown.paths]).toEqual([1, undefined]);
    await hub.report(west, { ...fullReport(), reach: reachOf('203.0.113.3') });
    let { cursor } = opened;
    await until('the provider hears from where its caller calls now', async () => {
      const answer = await hub.sync(east, cursor, 0);
      cursor = answer.cursor;
      return answer.paths?.paths.intake.callers[0]?.addresses[0] === '203.0.113.3';
    });
  });

  it('another replica, and this one after a restart, go on from the same cursor without a full state', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    await hub.report(east, fullReport(backend(2)));
    await hub.stop();
    const { url } = await hub.start({}, new Registry());
    const answer = await hub.sync({ ...west, hubUrl: url }, cursor, 10_000);
    expect(answer).toMatchObject({ full: false, removed: [], cursor: { epoch: cursor.epoch } });
    expect(answer.changed.map((resource) => resource.backend.providers[0]?.endpoints.length)).toEqual([2]);
  });

  it('a spoke is never told the name of a backend that it may not import', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1), backend(1, { name: backendName('secret', 'db') }));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    await hub.report(east, fullReport(backend(1)));
    await hub.stop();
    const { url } = await hub.start({}, new Registry());
    const answer = await hub.sync({ ...west, hubUrl: url }, cursor, 0);
    expect(JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain('secret');
    expect(answer).toMatchObject({ full: true, changed: [{ name: 'backend/ai/model' }] });
  });

  it('a new epoch and a cursor that the log no longer reaches get a full state', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    expect(await hub.sync(west, { epoch: '0.other', sequence: 5n, mark: '' })).toMatchObject({ full: true, cursor: { epoch: cursor.epoch } });
    await hub.store.hubState.declareRestore('ada');
    await hub.report(west, fullReport());
    await until('the restored hub follows', async () => (await hub.sync(west, cursor)).cursor.epoch !== cursor.epoch);
    const restored = await hub.sync(west, cursor);
    expect(restored).toMatchObject({ full: true, complete: false, changed: [] });
    await hub.report(east, fullReport(backend(1)));
    expect(await hub.sync(west, restored.cursor, 10_000)).toMatchObject({ full: false, changed: [{ name: 'backend/ai/model' }] });
  });

  it('a replica that is behind the caller waits and does not answer with full state', async () => {
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    let isOver = false;
    const ahead = { ...cursor, sequence: cursor.sequence + 100n };
    const waiting = hub.sync(west, ahead, 1_000).finally(() => {
      isOver = true;
    });
    await until('the wait is over', () => isOver, hub.clock);
    expect(await waiting).toMatchObject({ full: false, changed: [], removed: [], cursor: ahead });
  });

  it.each([
    { name: 'a hub that starts on the backup', swap: async (putBack: () => void) => {
      await hub.stop();
      putBack();
      hub.registry.clear();
      await hub.start();
    } },
    { name: 'a hub below which the backup is put, also while the caller waits,', swap: async (putBack: () => void, west: SpokeIdentity, cursor: SyncCursor) => {
      let isOver = false;
      const waiting = hub.sync(west, cursor, 1_000).finally(() => {
        isOver = true;
      });
      await until('the call waits', async () => (await hub.metric('spillway_hub_spoke_long_polls')).endsWith(' 1'));
      putBack();
      await until('the wait is over', () => isOver, hub.clock);
      expect(await waiting).toMatchObject({ cursor, full: false, changed: [], removed: [] });
    } },
  ])('$name tells nothing to a caller who knows what was lost, however far the log grows, until the restore is declared', async ({ swap }) => {
    await hub.store.policies.save(aPolicy(), 'ada');
    const east = await hub.member(EAST, backend(1));
    const west = await hub.member(WEST);
    const backup = hub.store.backup();
    await hub.report(east, fullReport(backend(2)));
    await until('west knows of two', async () => (await hub.sync(west)).changed[0]?.backend.providers[0]?.endpoints.length === 2);
    const { cursor } = await hub.sync(west);
    await swap(() => hub.store.putBack(backup), west, cursor);
    const here = { ...west, hubUrl: hub.api.url };
    // Another history grows past the cursor.
    for (let index = 0; index < 5; index += 1) await hub.store.policies.save(aPolicy({ name: `p${index}` }), 'ada');
    await until('the log is past the cursor', async () => (await hub.store.changeLog.head()).sequence > cursor.sequence);
    expect(await hub.sync(here, cursor)).toMatchObject({ cursor, full: false, changed: [], removed: [] });
    expect(await hub.sync(here, cursor)).toMatchObject({ cursor, full: false, changed: [], removed: [] });
    expect(await hub.metric('spillway_hub_lost_history_callers')).toMatch(/ 1$/);
    await hub.store.hubState.declareRestore('ada');
    await until('a new epoch is told', async () => (await hub.sync(here, cursor)).full);
    expect(await hub.metric('spillway_hub_lost_history_callers')).toMatch(/ 0$/);
  });

  it('a member that is removed while it waits is told that it is unknown, not that everything is gone', async () => {
    await hub.store.policies.save(aPolicy(), 'ada');
    await hub.member(EAST, backend(1));
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    const waiting = codeOf(hub.sync(west, cursor, 30_000));
    await until('the call waits', async () => (await hub.metric('spillway_hub_spoke_long_polls')).endsWith(' 1'));
    await hub.store.membership.remove(WEST, { by: 'worker', fence: undefined });
    expect(await waiting).toBe('HUB_UNKNOWN_MEMBER');
  });

  it('a stopping hub ends waiting calls, so that they go to another', async () => {
    const west = await hub.member(WEST);
    const { cursor } = await hub.sync(west);
    const waiting = codeOf(hub.sync(west, cursor, 30_000));
    await until('the call waits', async () => (await hub.metric('spillway_hub_spoke_long_polls')).endsWith(' 1'));
    await hub.stop();
    expect(await waiting).toBe('HUB_UNAVAILABLE');
  });

  it('while the database is away spokes are told so, and waiting calls go on', async () => {
    const west = await hub.member(WEST);
    hub.store.available = false;
    expect(await codeOf(hub.report(west, fullReport()))).toBe('HUB_UNAVAILABLE');
    hub.store.available = true;
    expect(await hub.report(west, fullReport())).toMatchObject({ resendFull: false });
  });

  it('calls over the cap of waiting calls are refused', async () => {
    await hub.stop();
    const { url } = await hub.start({ longPollsMax: 1 }, new Registry());
    const west = { ...(await hub.member(WEST)), hubUrl: url };
    const { cursor } = await hub.sync(west);
    const end = new AbortController();
    const waiting = codeOf(hub.linkOf(WEST).sync(west, cursor, 30_000, end.signal));
    await until('the second call is refused', async () => (await codeOf(hub.sync(west, cursor))) === 'HUB_UNAVAILABLE');
    end.abort();
    await waiting;
    await until('the caller that left makes room', async () => (await codeOf(hub.sync(west, cursor))) === 'none');
  });
});
