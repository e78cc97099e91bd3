import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { backendName, clusterId, DEFAULT_CAPACITY, type ImportedBackend, type MemberBackend } from '#domain/fleet';
import { aReach, FakeClock, FakeHubLink, FakeKube, FakeRandom, settle, until } from '#testing';

import { LastGoodStore } from '../last-good/last-good-store.js';
import { HubSession } from './hub-session.js';
import { newPrivateKeyPem } from './identity-keeper.js';
import { ImportKeeper } from './import-keeper.js';
import type { ReportVoice } from './report-loop.js';

const NAMESPACE = 'spillway-system';
const HOUR_MS = 3_600_000;
const part = (name: string, address = '10.1.0.1'): MemberBackend => ({
  name: backendName('ai', name), trafficClass: 'endpoints', sessionAffinity: 'None', ports: [{ port: 80, protocol: 'TCP' }],
  endpoints: [{ address, targetPorts: [8080], ready: true, serving: true, terminating: false, zone: '', node: '' }], capacity: DEFAULT_CAPACITY,
});
const imported = (name: string): ImportedBackend => ({
  name: backendName('ai', name), trafficClass: 'endpoints', sessionAffinity: 'None', providers: [], ports: [], conflicts: [], refusals: [], memberCount: 1, servingCount: 1,
});

function member(overrides: { kube?: FakeKube; clock?: FakeClock; link?: FakeHubLink } = {}) {
  const clock = overrides.clock ?? new FakeClock();
  const kube = overrides.kube ?? new FakeKube({ clock });
  const link = overrides.link ?? new FakeHubLink(clock);
  const state = { backends: undefined as readonly MemberBackend[] | undefined, reach: aReach(), voice: 'write' as ReportVoice };
  const logger = pino({ level: 'silent' });
  const random = new FakeRandom(1);
  const imports = new ImportKeeper({ store: new LastGoodStore(kube, NAMESPACE), clock, random, logger, mayWrite: () => true, onChange: () => undefined, saveIntervalMs: 5_000, verifyIntervalMs: 60_000, graceMs: 300_000 });
  const session = new HubSession({
    kube, link, clock, random, logger, imports,
    current: () => (state.backends === undefined ? undefined : { backends: state.backends, reach: state.reach, gatewayPorts: [], applied: undefined }),
    voice: () => state.voice,
    onIdentity: () => undefined,
    options: { namespace: NAMESPACE, joinSecretName: 'spillway-join', identitySecretName: 'spillway-identity', reportIntervalMs: 5_000, syncWaitMs: 25_000, incompleteRetryMs: 2_000, keyAgeMaxMs: HOUR_MS },
  });
  const say = (backends: readonly MemberBackend[]): void => {
    state.backends = backends;
    session.reportSoon();
  };
  return { clock, kube, link, imports, session, state, say };
}

const putToken = (kube: FakeKube, token: string): void => void kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: NAMESPACE, name: 'spillway-join' }, data: { token: Buffer.from(token).toString('base64') } });
const east = clusterId('east-1');
const savedIdentity = async (kube: FakeKube): Promise<Record<string, string>> => ((await kube.find(KUBE_KINDS.secret, { namespace: NAMESPACE, name: 'spillway-identity' }))?.['data'] ?? {}) as Record<string, string>;
async function spoil(kube: FakeKube, change: (data: Record<string, string>) => Record<string, string>): Promise<void> {
  kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: NAMESPACE, name: 'spillway-identity' }, data: change(await savedIdentity(kube)) });
}

describe('hub session', () => {
  it('a join token in the Secret leads to an identity, a report and a sync', async () => {
    const { kube, link, session, imports, say, clock } = member();
    link.addToken('t1', 'east-1');
    link.setImport(imported('model'));
    session.start();
    expect(session.status().phase).toBe('no-join-token');
    putToken(kube, 't1');
    say([part('model')]);
    await until('linked', () => session.status().phase === 'linked' && link.reported.get(east)?.size === 1 && imports.imports.backends.length === 1, clock);
    expect(session.identity?.clusterId).toBe('east-1');
    await session.stop();
  });

  it('the key is saved before the hub hears of it', async () => {
    const { kube, link, session, clock } = member();
    link.addToken('t1', 'east-1');
    link.goAway();
    putToken(kube, 't1');
    session.start();
    await until('key saved', async () => (await savedIdentity(kube))['private-key.pem'] !== undefined, clock);
    const before = await savedIdentity(kube);
    expect(link.enrolCalls).toBe(0);
    link.comeBack();
    await until('enrolled', () => session.identity !== undefined, clock, 1_000);
    expect((await savedIdentity(kube))['private-key.pem']).toBe(before['private-key.pem']);
    await session.stop();
  });

  it('a crash between Enrol and its answer does not burn the token', async () => {
    const first = member();
    first.link.addToken('t1', 'east-1');
    putToken(first.kube, 't1');
    first.kube.forbid('patch', '', 'secrets');
    first.session.start();
    await first.clock.advance(1_000);
    first.kube.permit('patch', '', 'secrets');
    await until('enrolled', () => first.session.identity !== undefined, first.clock, 1_000);
    await first.session.stop();
    // The answer was lost: only the key is in the Secret.
    const data = await savedIdentity(first.kube);
    first.kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: NAMESPACE, name: 'spillway-identity' }, data: { 'private-key.pem': data['private-key.pem'] } });
    const second = member({ kube: first.kube, clock: first.clock, link: first.link });
    second.session.start();
    await until('enrolled again', () => second.session.identity !== undefined, second.clock, 1_000);
    expect(first.link.members.size).toBe(1);
    await second.session.stop();
  });

  it.each([
    ['deleted', async (kube: FakeKube) => kube.remove(KUBE_KINDS.secret, { namespace: NAMESPACE, name: 'spillway-identity' })],
    ['emptied', async (kube: FakeKube) => spoil(kube, () => ({}))],
    ['left with half a key', async (kube: FakeKube) => spoil(kube, (data) => ({ ...data, 'private-key.pem': (data['private-key.pem'] ?? '').slice(0, 40) }))],
    ['given another key', async (kube: FakeKube) => spoil(kube, (data) => ({ ...data, 'private-key.pem': Buffer.from(newPrivateKeyPem()).toString('base64') }))],
    ['left without a binding', async (kube: FakeKube) => spoil(kube, ({ 'private-key.pem': key = '', digest = '' }) => ({ 'private-key.pem': key, digest }))],
    ['led to another hub', async (kube: FakeKube) => spoil(kube, (data) => ({ ...data, 'hub-url': Buffer.from('https://else.example').toString('base64') }))],
  ])('an identity Secret that was %s is put back as it was, and nothing is enrolled anew', async (_, damage) => {
    const { kube, link, session, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    await until('enrolled', () => session.identity !== undefined, clock);
    const before = await savedIdentity(kube);
    kube.forbid('patch', '', 'secrets');
    await damage(kube);
    await clock.advance(2_000);
    expect(session.identity?.clusterId).toBe('east-1');
    kube.permit('patch', '', 'secrets');
    await until('put back', async () => isDeepStrictEqual(await savedIdentity(kube), before), clock, 1_000);
    expect(link.enrolCalls).toBe(1);
    await session.stop();
  });

  it('an identity Secret that is broken at the start makes way for a new join token', async () => {
    const first = member();
    first.link.addToken('t1', 'east-1');
    putToken(first.kube, 't1');
    first.session.start();
    await until('enrolled', () => first.session.identity !== undefined, first.clock);
    await first.session.stop();
    await spoil(first.kube, (data) => ({ ...data, 'private-key.pem': 'AAAA' }));
    const second = member({ kube: first.kube, clock: first.clock, link: first.link });
    second.session.start();
    await until('refused', () => second.session.status().phase === 'refused', second.clock, 1_000);
    first.link.addToken('t2', 'east-1');
    putToken(first.kube, 't2');
    await until('enrolled again', () => second.session.identity?.clusterId === 'east-1', second.clock, 1_000);
    await second.session.stop();
  });

  it('nothing is reported before the first lists are complete, and then everything at once', async () => {
    const { kube, link, session, say, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    await until('enrolled', () => session.identity !== undefined, clock);
    await clock.advance(60_000);
    expect(link.reports).toEqual([]);
    say([]);
    await until('reported', () => link.reports.length > 0);
    expect(link.reports[0]).toMatchObject({ full: true, changed: [] });
    await session.stop();
  });

  it('a change is reported at once and alone; otherwise a heartbeat comes at the interval that the hub asks for', async () => {
    const { kube, link, session, say, clock } = member();
    link.addToken('t1', 'east-1');
    link.intervalMs = 7_000;
    putToken(kube, 't1');
    session.start();
    const [a, b] = [part('a'), part('b')];
    say([a, b]);
    await until('first report', () => link.reports.length === 1, clock);
    say([a, part('b', '10.1.0.2')]);
    await until('change', () => link.reports.length === 2);
    expect(link.reports[1]).toMatchObject({ full: false, changed: [{ name: 'ai/b' }], removed: [] });
    say([part('b', '10.1.0.2')]);
    await until('removal', () => link.reports.length === 3);
    expect(link.reports[2]).toMatchObject({ full: false, changed: [], removed: ['ai/a'] });
    await clock.advance(6_900);
    expect(link.reports.length).toBe(3);
    await clock.advance(200);
    expect(link.reports[3]).toMatchObject({ full: false, changed: [], removed: [] });
    await session.stop();
  });

  it('everything is sent again when the hub asks for it', async () => {
    const { kube, link, session, say, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    say([part('a')]);
    await until('first report', () => link.reports.length === 1, clock);
    link.reported.clear();
    await clock.advance(5_000);
    await until('full again', () => link.reports.at(-1)?.full === true && link.reported.get(east)?.size === 1);
    await session.stop();
  });

  it('while the hub is away the last good state stays, and one call that gets through wakes the other', async () => {
    const { kube, link, session, imports, say, clock } = member();
    link.addToken('t1', 'east-1');
    link.setImport(imported('model'));
    putToken(kube, 't1');
    session.start();
    say([part('a')]);
    await until('linked', () => imports.imports.backends.length === 1 && session.status().phase === 'linked', clock);
    link.goAway();
    await until('away', () => session.status().phase === 'away', clock, 1_000);
    await clock.advance(600_000);
    expect(imports.imports.backends.length).toBe(1);
    expect(session.status().message).toContain('cannot be reached');
    link.comeBack();
    link.setImport(imported('new'));
    const cameBackMs = clock.nowMs();
    await until('back', () => imports.imports.backends.length === 2 && session.status().phase === 'linked', clock, 500);
    expect(clock.nowMs() - cameBackMs).toBeLessThanOrEqual(31_000);
    await session.stop();
  });

  it('an emptied hub does not empty the imports, and a new join token leads back under the same key', async () => {
    const { kube, link, session, imports, say, clock } = member();
    link.addToken('t1', 'east-1');
    link.setImport(imported('model'));
    putToken(kube, 't1');
    session.start();
    say([part('a')]);
    await until('linked', () => imports.imports.backends.length === 1 && session.status().phase === 'linked', clock);
    const keyBefore = (await savedIdentity(kube))['private-key.pem'];
    link.startEmpty('epoch-2');
    await until('unknown', () => session.status().phase === 'unknown-member', clock, 1_000);
    await clock.advance(120_000);
    expect(imports.imports.backends.length).toBe(1);
    link.addToken('t2', 'east-1');
    putToken(kube, 't2');
    await until('linked again', () => session.status().phase === 'linked' && imports.state.cursor?.epoch === 'epoch-2', clock, 500);
    expect((await savedIdentity(kube))['private-key.pem']).toBe(keyBefore);
    expect(imports.imports.backends.map((backend) => backend.name)).toEqual(['ai/model']);
    expect(link.reported.get(east)?.size).toBe(1);
    await session.stop();
  });

  it('a refused token says what to do, is not tried again, and gives way to the next', async () => {
    const { kube, link, session, clock } = member();
    putToken(kube, 'foreign');
    session.start();
    await until('refused', () => session.status().phase === 'refused', clock);
    await clock.advance(600_000);
    expect(link.enrolCalls).toBe(1);
    expect(session.status().message).toContain('make a new one');
    link.addToken('t2', 'east-1');
    putToken(kube, 't2');
    await until('enrolled', () => session.identity !== undefined, clock);
    await session.stop();
  });

  it('a refused new token does not disturb the link that works', async () => {
    const { kube, link, session, say, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    say([part('a')]);
    await until('linked', () => session.status().phase === 'linked', clock);
    putToken(kube, 'foreign');
    await clock.advance(20_000);
    say([part('b')]);
    await until('b is reported', () => link.reported.get(east)?.has(backendName('ai', 'b')), clock);
    await session.stop();
  });

  it('while an incomplete full state leaves something open, a complete one is asked for, ever more rarely', async () => {
    const { kube, link, session, imports, clock } = member();
    link.addToken('t1', 'east-1');
    link.setImport(imported('model'));
    putToken(kube, 't1');
    session.start();
    await until('synced', () => imports.state.complete, clock);
    link.isComplete = false;
    link.removeImport(backendName('ai', 'model'));
    link.newEpoch('epoch-2');
    await until('held', () => imports.state.held !== undefined, clock);
    const before = link.fullStates;
    await clock.advance(600_000);
    expect(link.fullStates - before).toBeGreaterThan(5);
    expect(link.fullStates - before).toBeLessThan(20);
    expect(imports.imports.backends.length).toBe(1);
    link.isComplete = true;
    await until('complete', () => imports.state.complete, clock, 500);
    await clock.advance(301_000);
    expect(imports.imports.backends).toEqual([]);
    await session.stop();
  });

  it('an incomplete state that leaves nothing open is not asked for again', async () => {
    const { kube, link, session, imports, clock } = member();
    link.addToken('t1', 'east-1');
    link.isComplete = false;
    link.setImport(imported('model'));
    putToken(kube, 't1');
    session.start();
    await until('synced', () => imports.imports.backends.length === 1, clock);
    await clock.advance(600_000);
    expect(link.fullStates).toBe(1);
    link.removeImport(backendName('ai', 'model'));
    await until('removed by name', () => imports.imports.backends.length === 0, clock);
    await session.stop();
  });

  it('a standby says nothing; one that cannot confirm its Lease says only that it lives', async () => {
    const { kube, link, session, say, state, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    say([part('a')]);
    await until('first report', () => link.reports.length === 1, clock);
    state.voice = 'heartbeat';
    say([part('a'), part('b')]);
    await clock.advance(11_000);
    expect(link.reports.slice(1).every((report) => report.changed.length === 0)).toBe(true);
    expect(link.reports.length).toBe(3);
    state.voice = 'silent';
    await clock.advance(20_000);
    expect(link.reports.length).toBe(3);
    state.voice = 'write';
    session.reportSoon();
    await until('full', () => link.reports.at(-1)?.full === true);
    await session.stop();
  });

  it('a new CA bundle is saved ahead of its use', async () => {
    const { kube, link, session, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    await until('enrolled', () => session.identity !== undefined, clock);
    link.caBundlePem = 'ca-1 and ca-2';
    link.setImport(imported('x'));
    await until('saved', async () => Buffer.from((await savedIdentity(kube))['ca.crt'] ?? '', 'base64').toString() === 'ca-1 and ca-2', clock);
    await settle();
    expect(session.identity?.caBundlePem).toBe('ca-1 and ca-2');
    await session.stop();
  });

  it('a key is rotated while the link works, and nothing else of the identity changes', async () => {
    const { kube, link, session, say, clock } = member();
    link.addToken('t1', 'east-1');
    putToken(kube, 't1');
    session.start();
    say([part('a')]);
    await until('linked', () => session.status().phase === 'linked', clock);
    const before = await savedIdentity(kube);
    const since = session.status().keySinceMs ?? Infinity;
    await clock.advance(HOUR_MS);
    await until('rotated', () => (session.status().keySinceMs ?? 0) > since, clock, 1_000);
    const after = await savedIdentity(kube);
    expect(after['private-key.pem']).not.toBe(before['private-key.pem']);
    expect(after).toMatchObject(Object.fromEntries(['cluster-id', 'hub-url', 'ca.crt', 'audience', 'enrolled-token-sha256'].map((key) => [key, before[key]])));
    // The link goes on under the new key, long after the old one has ended.
    await clock.advance(HOUR_MS / 2);
    say([part('a'), part('b')]);
    await until('b is reported', () => link.reported.get(east)?.has(backendName('ai', 'b')), clock);
    expect(link.enrolCalls).toBe(1);
    await session.stop();
  });

  it('the places of its definitions are repeated to a hub that lost them, also by a process that only read of them', async () => {
    const first = member();
    const { kube, link, clock } = first;
    link.addToken('t1', 'east-1');
    link.firstSeen.set(backendName('ai', 'model'), 42n);
    link.setImport(imported('model'));
    putToken(kube, 't1');
    await first.imports.load();
    first.session.start();
    first.say([part('model'), part('other')]);
    await until('told', () => first.imports.state.firstSeen.size === 1, clock);
    await clock.advance(10_000);
    await first.session.stop();
    await first.imports.stop();
    link.firstSeen.clear();
    link.startEmpty('epoch-2');
    link.addToken('t2', 'east-1');
    putToken(kube, 't2');
    const second = member({ kube, clock, link });
    await second.imports.load();
    second.session.start();
    second.say([part('model'), part('other')]);
    await until('reported', () => link.reported.get(east)?.size === 2, clock, 500);
    expect(link.reports.at(-1)).toMatchObject({ full: true, firstSeen: new Map([['ai/model', 42n]]) });
    await second.session.stop();
    await second.imports.stop();
  });
});
