import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { backendName, type BackendName, clusterId, type ClusterId, FIRST_SEEN_MAX, firstSeenPlace, type FleetView, type MemberBackend, memberBackendDigest, type MemberReach, reachDigest, type ReachReport, reportDigest, type SamenessPolicy } from '#domain/fleet';
import type { ClusterRegistration, EnrolmentClaim, FleetStore, JoinTokenGrant, MemberReport, ReportOutcome } from '#ports';

import type { FakeClock } from '../fake-clock.js';

/** How the conformance spec gets a store. */
export interface FleetStoreHarness {
  /** An empty store on a clock that the spec turns. */
  open(clock: FakeClock): Promise<FleetStore>;
  /** A second connection to the same data, as another replica has. */
  openReplica(store: FleetStore, clock: FakeClock): Promise<FleetStore>;
  makeClock(): FakeClock;
  closeAll(): Promise<void>;
}

const EAST = clusterId('east-1');
const WEST = clusterId('west-1');
const MODEL = backendName('ai', 'model');
const EMBED = backendName('ai', 'embed');
const OVERLAP_MS = 60_000;

const registration = (id: ClusterId, over: Partial<ClusterRegistration> = {}): ClusterRegistration => ({ id, labels: { tier: 'gpu' }, region: 'east', zone: 'east-a', network: 'flat', credential: undefined, ...over });

const backend = (name: BackendName, addresses: readonly string[] = ['10.1.0.1'], over: Partial<MemberBackend> = {}): MemberBackend => ({
  name,
  trafficClass: 'endpoints',
  sessionAffinity: 'None',
  ports: [{ port: 80, protocol: 'TCP' }],
  endpoints: addresses.map((address) => ({ address, targetPorts: [8080], ready: true, serving: true, terminating: false, zone: 'a', node: 'n1' })),
  capacity: { unit: 'Requests', perEndpoint: 100 },
  ...over,
});

const digestOf = (backends: readonly MemberBackend[]): string => reportDigest(new Map(backends.map((part) => [part.name, memberBackendDigest(part)])));

const fullReport = (id: ClusterId, backends: readonly MemberBackend[]): MemberReport => ({ clusterId: id, full: true, changed: backends, removed: [], digest: digestOf(backends), applied: undefined, spokeVersion: '0.1.0', clockSkewMs: 0 });

const deltaReport = (id: ClusterId, delta: Partial<Pick<MemberReport, 'changed' | 'removed'>>, after: readonly MemberBackend[]): MemberReport => ({ ...fullReport(id, []), full: false, changed: [], digest: digestOf(after), ...delta });

const policy = (name: string, namespaces: readonly string[]): SamenessPolicy => ({ name, namespaces, mayExport: { all: true, names: [], matchLabels: {} }, mayImport: { all: true, names: [], matchLabels: {} }, owner: 'platform' });

const publicKey = (fill: number): string => Buffer.alloc(32, fill).toString('base64url');

/** The rules of the store, the same for the fake and for PostgreSQL. */
export function describeFleetStore(name: string, harness: FleetStoreHarness): void {
  describe(name, () => {
    let clock: FakeClock;
    let store: FleetStore;
    beforeEach(async () => {
      clock = harness.makeClock();
      store = await harness.open(clock);
    });
    afterAll(() => harness.closeAll());
    const context = (): { clock: FakeClock; store: FleetStore } => ({ clock, store });
    describe('membership', () => membershipRules(context));
    describe('enrolment', () => enrolmentRules(context));
    describe('reports', () => reportRules(context));
    describe('reach and gateway ports', () => reachRules(context));
    describe('policies, freeze, audit', () => policyRules(context));
    describe('change log', () => changeLogRules(context, harness));
    describe('leases and hub state', () => leaseRules(context, harness));
  });
}

type Context = () => { readonly clock: FakeClock; readonly store: FleetStore };

const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'none';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
};

function membershipRules(context: Context): void {
  it('a registered cluster is joining, and found again with all it was registered with', async () => {
    const { store, clock } = context();
    const made = await store.membership.register(registration(EAST), 'ada');
    expect(made).toMatchObject({ freshness: 'joining', firstListComplete: false, hasKubeconfig: false, registeredAtMs: clock.nowMs() });
    expect(await store.membership.find(EAST)).toEqual(made);
    await store.membership.register(registration(WEST), 'ada');
    expect((await store.membership.list()).map((row) => row.cluster.id)).toEqual([EAST, WEST]);
  });

  it('a name in use is refused and nothing is written', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    const head = await store.changeLog.head();
    expect(await codeOf(store.membership.register(registration(EAST, { region: 'other' }), 'bob'))).toBe('CLUSTER_NAME_TAKEN');
    expect(await store.changeLog.head()).toEqual(head);
    expect((await store.membership.find(EAST))?.cluster.locality.region).toBe('east');
    expect(await store.audit.list({ limit: 10 })).toHaveLength(1);
  });

  it('a kubeconfig comes back as it was given, and is in no record and no audit entry', async () => {
    const { store } = context();
    const kubeconfig = 'apiVersion: v1\nkind: Config # very-secret';
    await store.membership.register(registration(EAST, { credential: { kubeconfig, serverUrl: 'https://10.0.0.1:6443' } }), 'ada');
    expect(await store.membership.openKubeconfig(EAST)).toBe(kubeconfig);
    const record = await store.membership.find(EAST);
    expect(record).toMatchObject({ hasKubeconfig: true, serverUrl: 'https://10.0.0.1:6443' });
    expect(JSON.stringify([record, await store.audit.list({ limit: 10 })], (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain('very-secret');
    await store.membership.update(EAST, { credential: { kubeconfig: 'second', serverUrl: 'https://10.0.0.2:6443' } }, 'ada');
    expect(await store.membership.openKubeconfig(EAST)).toBe('second');
    expect(await store.membership.openKubeconfig(WEST)).toBeUndefined();
  });

  it('an update changes what it names and nothing else', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    const after = await store.membership.update(EAST, { labels: { tier: 'cpu' }, zone: 'east-b' }, 'bob');
    expect(after.cluster).toEqual({ id: EAST, uid: '', labels: { tier: 'cpu' }, locality: { region: 'east', zone: 'east-b' }, network: 'flat' });
    expect(await codeOf(store.membership.update(WEST, {}, 'bob'))).toBe('CLUSTER_NOT_FOUND');
  });

  it('an observation replaces conditions of its types and keeps the others', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    const condition = (type: string, status: 'True' | 'False') => ({ type, status, reason: 'Seen', message: 'm', lastTransitionAtMs: 1, observedAtMs: 2 });
    await store.membership.recordObservation(EAST, { conditions: [condition('ApiReachable', 'True'), condition('Installed', 'False')], kubernetesVersion: 'v1.37.2' }, undefined);
    const inventory = { observedAtMs: 5, nodeCount: 2, readyNodeCount: 1, accelerators: [{ product: 'NVIDIA-H100-80GB-HBM3', nodeCount: 1, allocatable: 8 }], facts: { serviceCidrs: ['172.30.0.0/16'] } };
    await store.membership.recordObservation(EAST, { uid: 'uid-east', conditions: [condition('Installed', 'True')], inventory }, undefined);
    const record = await store.membership.find(EAST);
    expect(record?.conditions.map(({ type, status }) => `${type}=${status}`)).toEqual(['ApiReachable=True', 'Installed=True']);
    expect(record).toMatchObject({ inventory, versions: { kubernetes: 'v1.37.2' }, cluster: { uid: 'uid-east' } });
  });

  it('one cluster (uid) under two names is refused, and so is another cluster under a bound name', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    await store.membership.register(registration(WEST), 'ada');
    await store.membership.recordObservation(EAST, { uid: 'uid-1' }, undefined);
    expect(await codeOf(store.membership.recordObservation(WEST, { uid: 'uid-1' }, undefined))).toBe('CLUSTER_UID_TAKEN');
    expect(await codeOf(store.membership.recordObservation(EAST, { uid: 'uid-2' }, undefined))).toBe('CLUSTER_UID_CHANGED');
    expect((await store.membership.find(WEST))?.cluster.uid).toBe('');
  });

  it('removal is asked for, can only become more forceful, and then frees name, keys and reports', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    const key = await enrolled(store, EAST, 'uid-1');
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    await store.membership.requestRemoval(EAST, { force: true, by: 'bob' });
    expect((await store.membership.requestRemoval(EAST, { force: false, by: 'ada' })).removal).toMatchObject({ force: true, by: 'bob' });
    await store.membership.remove(EAST, { by: 'worker', fence: undefined });
    await store.membership.remove(EAST, { by: 'worker', fence: undefined });
    expect(await store.membership.find(EAST)).toBeUndefined();
    expect(await store.enrolment.findKey(key.keyId)).toBeUndefined();
    expect((await store.changeLog.loadView()).view.parts.size).toBe(0);
    await store.membership.register(registration(EAST), 'ada');
  });
}

const grant = (id: ClusterId, tokenHash: string, over: Partial<JoinTokenGrant> = {}): JoinTokenGrant => ({ clusterId: id, tokenHash, expiresAtMs: 4_000_000_000_000, replace: false, ...over });
const claim = (id: ClusterId, tokenHash: string, uid: string, fill: number): EnrolmentClaim => ({ tokenHash, clusterId: id, clusterUid: uid, publicKey: publicKey(fill), spokeVersion: '0.1.0' });

async function enrolled(store: FleetStore, id: ClusterId, uid: string, fill = 1) {
  await store.enrolment.createJoinToken(grant(id, `hash-${id}-${uid}-${fill}`), 'ada');
  return store.enrolment.enrol(claim(id, `hash-${id}-${uid}-${fill}`, uid, fill), OVERLAP_MS);
}

function enrolmentRules(context: Context): void {
  it('a token binds uid and key once; the same spoke may ask again, another may not', async () => {
    const { store, clock } = context();
    await store.membership.register(registration(EAST), 'ada');
    await store.enrolment.createJoinToken(grant(EAST, 'h1', { expiresAtMs: clock.nowMs() + 1_000 }), 'ada');
    const key = await store.enrolment.enrol(claim(EAST, 'h1', 'uid-1', 1), OVERLAP_MS);
    expect(key).toMatchObject({ clusterId: EAST, publicKey: publicKey(1), notAfterMs: undefined });
    expect((await store.membership.find(EAST))?.cluster.uid).toBe('uid-1');
    await clock.advance(5_000);
    expect(await store.enrolment.enrol(claim(EAST, 'h1', 'uid-1', 1), OVERLAP_MS)).toEqual(key);
    expect(await codeOf(store.enrolment.enrol(claim(EAST, 'h1', 'uid-1', 2), OVERLAP_MS))).toBe('ENROL_TOKEN_USED');
    expect(await codeOf(store.enrolment.enrol(claim(EAST, 'h1', 'uid-2', 1), OVERLAP_MS))).toBe('ENROL_TOKEN_USED');
  });

  it('a token that is expired, unknown or for another name binds nothing', async () => {
    const { store, clock } = context();
    await store.membership.register(registration(EAST), 'ada');
    await store.membership.register(registration(WEST), 'ada');
    await store.enrolment.createJoinToken(grant(EAST, 'h1', { expiresAtMs: clock.nowMs() + 1_000 }), 'ada');
    expect(await codeOf(store.enrolment.enrol(claim(EAST, 'h2', 'uid-1', 1), OVERLAP_MS))).toBe('ENROL_TOKEN_FOREIGN');
    expect(await codeOf(store.enrolment.enrol(claim(WEST, 'h1', 'uid-1', 1), OVERLAP_MS))).toBe('ENROL_TOKEN_FOREIGN');
    await clock.advance(1_001);
    expect(await codeOf(store.enrolment.enrol(claim(EAST, 'h1', 'uid-1', 1), OVERLAP_MS))).toBe('ENROL_TOKEN_EXPIRED');
    expect((await store.membership.find(EAST))?.cluster.uid).toBe('');
    expect(await codeOf(store.enrolment.createJoinToken(grant(clusterId('none'), 'h3'), 'ada'))).toBe('CLUSTER_NOT_FOUND');
  });

  it('a join token is known by its hash alone: for whom, until when, and whether it was used', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    await store.enrolment.createJoinToken(grant(EAST, 'h1'), 'ada');
    const made = await store.enrolment.findJoinToken('h1');
    expect(made).toEqual({ clusterId: EAST, expiresAtMs: grant(EAST, 'h1').expiresAtMs, isUsed: false });
    await store.enrolment.enrol(claim(EAST, 'h1', 'uid-1', 1), OVERLAP_MS);
    expect(await store.enrolment.findJoinToken('h1')).toEqual({ ...made, isUsed: true });
    expect(await store.enrolment.findJoinToken('h2')).toBeUndefined();
  });

  it('a known uid enrols again and keeps its reports; its older key ends after the overlap', async () => {
    const { store, clock } = context();
    await store.membership.register(registration(EAST), 'ada');
    const first = await enrolled(store, EAST, 'uid-1', 1);
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    const second = await enrolled(store, EAST, 'uid-1', 2);
    expect((await store.enrolment.findKey(first.keyId))?.notAfterMs).toBe(clock.nowMs() + OVERLAP_MS);
    await clock.advance(OVERLAP_MS + 1);
    expect(await store.enrolment.findKey(first.keyId)).toBeUndefined();
    expect(await store.enrolment.findKey(second.keyId)).toMatchObject({ clusterId: EAST });
    expect((await store.membership.find(EAST))?.firstListComplete).toBe(true);
    expect((await store.changeLog.loadView()).view.parts.get(MODEL)).toHaveLength(1);
  });

  it('another uid under a bound name needs a token with replace, and then starts from nothing', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    const old = await enrolled(store, EAST, 'uid-1', 1);
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    await store.enrolment.createJoinToken(grant(EAST, 'h2'), 'ada');
    expect(await codeOf(store.enrolment.enrol(claim(EAST, 'h2', 'uid-2', 2), OVERLAP_MS))).toBe('ENROL_NAME_TAKEN');
    await store.enrolment.createJoinToken(grant(EAST, 'h3', { replace: true }), 'ada');
    await store.enrolment.enrol(claim(EAST, 'h3', 'uid-2', 2), OVERLAP_MS);
    expect(await store.enrolment.findKey(old.keyId)).toBeUndefined();
    const { view } = await store.changeLog.loadView();
    expect(view.parts.size).toBe(0);
    expect(view.members.get(EAST)).toMatchObject({ freshness: 'joining', firstListComplete: false, cluster: { uid: 'uid-2', labels: { tier: 'gpu' } } });
  });

  it("a uid that is a member under another name, and another cluster's key, are refused", async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    await store.membership.register(registration(WEST), 'ada');
    await enrolled(store, EAST, 'uid-1', 1);
    await store.enrolment.createJoinToken(grant(WEST, 'h2'), 'ada');
    expect(await codeOf(store.enrolment.enrol(claim(WEST, 'h2', 'uid-1', 2), OVERLAP_MS))).toBe('ENROL_UID_TAKEN');
    expect(await codeOf(store.enrolment.enrol(claim(WEST, 'h2', 'uid-2', 1), OVERLAP_MS))).toBe('ENROL_KEY_TAKEN');
  });

  it('a rotated key overlaps with the one that signed for it; asking twice changes nothing', async () => {
    const { store, clock } = context();
    await store.membership.register(registration(EAST), 'ada');
    const first = await enrolled(store, EAST, 'uid-1', 1);
    const second = await store.enrolment.rotateKey(first, publicKey(2), OVERLAP_MS);
    expect(await store.enrolment.rotateKey(first, publicKey(2), OVERLAP_MS)).toEqual(second);
    expect(await store.enrolment.findKey(first.keyId)).toMatchObject({ notAfterMs: clock.nowMs() + OVERLAP_MS });
    await clock.advance(OVERLAP_MS + 1);
    expect(await store.enrolment.findKey(first.keyId)).toBeUndefined();
    expect(await store.enrolment.findKey(second.keyId)).toEqual(second);
  });
}

function reportRules(context: Context): void {
  const member = async (id = EAST) => {
    await context().store.membership.register(registration(id), 'ada');
    await enrolled(context().store, id, `uid-${id}`, id === EAST ? 1 : 2);
  };

  it('the first full report makes a member fresh with its first list complete', async () => {
    await member();
    const { store, clock } = context();
    const report = { ...fullReport(EAST, [backend(MODEL), backend(EMBED)]), applied: { epoch: 'e', sequence: 7n }, clockSkewMs: -20 };
    const outcome = await store.reports.accept(report);
    const { view, sequence } = await store.changeLog.loadView();
    expect(outcome).toEqual({ resendFull: false, sequence });
    expect(view.members.get(EAST)).toMatchObject({ freshness: 'fresh', firstListComplete: true });
    expect(view.parts.get(MODEL)?.[0]?.backend).toEqual(backend(MODEL));
    expect((await store.membership.find(EAST))?.spoke).toEqual({ version: '0.1.0', lastReportAtMs: clock.nowMs(), clockSkewMs: -20, applied: { epoch: 'e', sequence: 7n } });
  });

  it('a report that changes nothing makes no log entry', async () => {
    await member();
    const { store } = context();
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    const head = await store.changeLog.head();
    expect(await store.reports.accept(fullReport(EAST, [backend(MODEL)]))).toEqual({ resendFull: false, sequence: undefined });
    expect(await store.reports.accept(deltaReport(EAST, {}, [backend(MODEL)]))).toEqual({ resendFull: false, sequence: undefined });
    expect(await store.changeLog.head()).toEqual(head);
  });

  it('a change keeps the number at which the backend was first seen; a removed one starts anew', async () => {
    await member();
    const { store } = context();
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    const first = (await store.changeLog.loadView()).view.parts.get(MODEL)?.[0]?.firstSeenSequence;
    const bigger = backend(MODEL, ['10.1.0.1', '10.1.0.2']);
    await store.reports.accept(deltaReport(EAST, { changed: [bigger] }, [bigger]));
    expect((await store.changeLog.loadView()).view.parts.get(MODEL)?.[0]).toEqual({ clusterId: EAST, backend: bigger, firstSeenSequence: first, gatewayPorts: [] });
    await store.reports.accept(deltaReport(EAST, { removed: [MODEL] }, []));
    expect((await store.changeLog.loadView()).view.parts.has(MODEL)).toBe(false);
    await store.reports.accept(deltaReport(EAST, { changed: [bigger] }, [bigger]));
    expect((await store.changeLog.loadView()).view.parts.get(MODEL)?.[0]?.firstSeenSequence).toBeGreaterThan(first ?? FIRST_SEEN_MAX);
  });

  it('what an earlier epoch saw first stays first, in whatever order its members tell; later claims to be older are not heard', async () => {
    await member();
    await member(WEST);
    const { store } = context();
    const places = async (): Promise<unknown> => (await store.changeLog.loadView()).view.parts.get(MODEL)?.map(({ clusterId: id, firstSeenSequence }) => [id, firstSeenSequence]);
    const first = fullReport(WEST, [backend(MODEL), backend(EMBED)]);
    await store.reports.accept({ ...first, firstSeen: new Map([[MODEL, 40n]]) });
    await store.reports.accept({ ...fullReport(EAST, [backend(MODEL)]), firstSeen: new Map([[MODEL, 20n]]) });
    expect(await places()).toEqual([[EAST, 20n], [WEST, 40n]]);
    await store.reports.accept({ ...first, firstSeen: new Map([[MODEL, 10n]]) });
    await store.reports.accept(fullReport(WEST, [backend(EMBED)]));
    await store.reports.accept({ ...first, firstSeen: new Map([[MODEL, 10n]]) });
    const { epochBeganAtMs } = await store.hubState.identity();
    const epochStart = firstSeenPlace(epochBeganAtMs, 0n);
    expect(await places()).toEqual([[EAST, 20n], [WEST, expect.any(BigInt)]]);
    const parts = (await store.changeLog.loadView()).view.parts;
    expect(parts.get(MODEL)?.[1]?.firstSeenSequence).toBeGreaterThan(epochStart);
    expect(parts.get(EMBED)?.[0]?.firstSeenSequence).toBeGreaterThan(epochStart);
  });

  it('a full report drops what it does not name', async () => {
    await member();
    const { store } = context();
    await store.reports.accept(fullReport(EAST, [backend(MODEL), backend(EMBED)]));
    await store.reports.accept(fullReport(EAST, [backend(EMBED)]));
    expect([...(await store.changeLog.loadView()).view.parts.keys()]).toEqual([EMBED]);
  });

  it('changes on an unknown base ask for everything: before the first full report, and when digests differ', async () => {
    await member();
    const { store } = context();
    expect(await store.reports.accept(deltaReport(EAST, { changed: [backend(MODEL)] }, [backend(MODEL)]))).toEqual({ resendFull: true, sequence: undefined });
    expect((await store.changeLog.loadView()).view.parts.size).toBe(0);
    expect((await store.membership.find(EAST))?.freshness).toBe('joining');
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    expect((await store.reports.accept(deltaReport(EAST, {}, [backend(MODEL), backend(EMBED)]))).resendFull).toBe(true);
  });

  it('a full report that does not add up is refused and changes nothing', async () => {
    await member();
    const { store } = context();
    await store.reports.accept(fullReport(EAST, [backend(EMBED)]));
    const head = await store.changeLog.head();
    expect(await codeOf(store.reports.accept({ ...fullReport(EAST, [backend(MODEL)]), digest: '0'.repeat(32) }))).toBe('REPORT_DIGEST_MISMATCH');
    expect(await store.changeLog.head()).toEqual(head);
    expect(await codeOf(store.reports.accept(fullReport(clusterId('none'), [])))).toBe('CLUSTER_NOT_FOUND');
  });

  it('a cluster may not grow over the limit of backends by deltas', async () => {
    await member();
    const { store } = context();
    const many = Array.from({ length: 2_000 }, (_, index) => backend(backendName('ai', `b${index}`), []));
    await store.reports.accept(fullReport(EAST, many));
    const one = backend(MODEL);
    expect(await codeOf(store.reports.accept(deltaReport(EAST, { changed: [one] }, [...many, one])))).toBe('REPORT_TOO_MANY_BACKENDS');
    expect((await store.changeLog.loadView()).view.parts.size).toBe(2_000);
  });

  it('a judgement counts unless a report came in between; a stale member that reports is fresh again', async () => {
    await member();
    const { store, clock } = context();
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    const knownAtMs = clock.nowMs();
    await clock.advance(1_000);
    await store.reports.accept(deltaReport(EAST, {}, [backend(MODEL)]));
    expect(await store.reports.judge([{ clusterId: EAST, freshness: 'stale', lastReportAtMs: knownAtMs }], undefined)).toEqual([]);
    expect(await store.reports.judge([{ clusterId: EAST, freshness: 'stale', lastReportAtMs: clock.nowMs() }], undefined)).toEqual([EAST]);
    expect((await store.changeLog.loadView()).view.members.get(EAST)?.freshness).toBe('stale');
    expect((await store.reports.accept(deltaReport(EAST, {}, [backend(MODEL)]))).sequence).toBe((await store.changeLog.head()).sequence);
    expect((await store.changeLog.loadView()).view.members.get(EAST)?.freshness).toBe('fresh');
  });

  it('a member that never reported may be judged stale; its first full report makes it fresh all the same', async () => {
    await member();
    const { store } = context();
    expect(await store.reports.judge([{ clusterId: EAST, freshness: 'stale', lastReportAtMs: undefined }], undefined)).toEqual([EAST]);
    expect((await store.changeLog.loadView()).view.members.get(EAST)).toMatchObject({ freshness: 'stale', firstListComplete: false });
    expect(await store.reports.accept(deltaReport(EAST, {}, []))).toMatchObject({ resendFull: true });
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    expect((await store.changeLog.loadView()).view.members.get(EAST)).toMatchObject({ freshness: 'fresh', firstListComplete: true });
  });
}

function reachRules(context: Context): void {
  const REACH: MemberReach = { gateways: ['198.51.100.1'], egress: ['192.0.2.1'], probes: ['192.0.2.1'], probePort: 9091 };
  const told = (changed: MemberReach | undefined, over: Partial<ReachReport> = {}): ReachReport => ({ digest: reachDigest(changed ?? REACH), changed, gatewayPorts: [], ...over });
  const portsOf = async (id: ClusterId): Promise<Record<string, number[]>> => {
    const { view } = await context().store.changeLog.loadView();
    return Object.fromEntries([...view.parts].flatMap(([name, parts]) => parts.filter((part) => part.clusterId === id).map((part) => [name, part.gatewayPorts.map(({ gatewayPort }) => gatewayPort)])));
  };
  const report = async (over: MemberReport): Promise<ReportOutcome> => context().store.reports.accept(over);
  const a = backend(MODEL, [], { ports: [{ port: 80, protocol: 'TCP' }, { port: 53, protocol: 'UDP' }] });
  const b = backend(EMBED);
  beforeEach(async () => {
    await context().store.membership.register(registration(EAST), 'ada');
  });

  it('a reach is in the record and in the view, and each change of it is one entry of the log', async () => {
    const { store } = context();
    await report({ ...fullReport(EAST, []), reach: told(REACH) });
    const { sequence, epoch } = await store.changeLog.loadView();
    expect((await store.membership.find(EAST))?.reach).toEqual(REACH);
    const moved = { ...REACH, egress: ['192.0.2.1', '192.0.2.2'] };
    expect(await report({ ...deltaReport(EAST, {}, []), reach: told(moved) })).toEqual({ resendFull: false, sequence: sequence + 1n });
    const batch = await store.changeLog.changesSince(epoch, sequence);
    expect(batch?.changes).toEqual([expect.objectContaining({ kind: 'member', member: expect.objectContaining({ reach: moved }) })]);
    expect(await report({ ...deltaReport(EAST, {}, []), reach: told(moved) })).toEqual({ resendFull: false, sequence: undefined });
  });

  it('a heartbeat with another digest of the reach asks for everything; one of an older spoke does not', async () => {
    await report({ ...fullReport(EAST, []), reach: told(REACH) });
    expect((await report({ ...deltaReport(EAST, {}, []), reach: told(undefined) })).resendFull).toBe(false);
    expect((await report({ ...deltaReport(EAST, {}, []), reach: told(undefined, { digest: 'f'.repeat(32) }) })).resendFull).toBe(true);
    expect((await report(deltaReport(EAST, {}, []))).resendFull).toBe(false);
  });

  it('a spoke that no longer says how it is reached is not known to be', async () => {
    await report({ ...fullReport(EAST, []), reach: told(REACH) });
    await report(fullReport(EAST, []));
    expect((await context().store.membership.find(EAST))?.reach).toBeUndefined();
  });

  it('every port of every backend has a gateway port once the cluster has gateways, and keeps it', async () => {
    await report({ ...fullReport(EAST, [a, b]), reach: told({ ...REACH, gateways: [] }) });
    expect(await portsOf(EAST)).toEqual({ [MODEL]: [], [EMBED]: [] });
    const { epoch, sequence } = await context().store.changeLog.loadView();
    await report({ ...deltaReport(EAST, {}, [a, b]), reach: told(REACH) });
    const ports = await portsOf(EAST);
    expect(new Set(Object.values(ports).flat()).size).toBe(3);
    const batch = await context().store.changeLog.changesSince(epoch, sequence);
    expect(batch?.changes.map((change) => (change.kind === 'part' ? change.part?.gatewayPorts.length : change.kind))).toEqual([1, 2, 'member']);
    await report({ ...deltaReport(EAST, {}, [a, b]), reach: told({ ...REACH, gateways: [] }) });
    expect(await portsOf(EAST)).toEqual(ports);
    await report({ ...fullReport(EAST, [b, a]), reach: told(REACH) });
    expect(await portsOf(EAST)).toEqual(ports);
  });

  it('a freed gateway port comes back to its backend alone, until the quarantine is over', async () => {
    await report({ ...fullReport(EAST, [b]), reach: told(REACH) });
    const { [EMBED]: [freed] = [] } = await portsOf(EAST);
    await report({ ...deltaReport(EAST, { changed: [a], removed: [EMBED] }, [a]) });
    expect((await portsOf(EAST))[MODEL]).not.toContain(freed);
    await report({ ...deltaReport(EAST, { changed: [b] }, [a, b]) });
    expect((await portsOf(EAST))[EMBED]).toEqual([freed]);
  });

  it('a cluster that is removed and registered anew gives no number away that it had given', async () => {
    const { store } = context();
    await report({ ...fullReport(EAST, [b]), reach: told(REACH) });
    const { [EMBED]: [given] = [] } = await portsOf(EAST);
    await store.membership.remove(EAST, { by: 'test', fence: undefined });
    await store.membership.register(registration(EAST), 'ada');
    await report({ ...fullReport(EAST, [a]), reach: told(REACH) });
    expect(Object.values(await portsOf(EAST)).flat()).not.toContain(given);
  });

  it('a store that never heard of a cluster takes over what its gateways serve', async () => {
    await report({ ...fullReport(EAST, [a, b]), reach: told(REACH, { gatewayPorts: [{ backend: EMBED, port: { port: 80, protocol: 'TCP' }, gatewayPort: 25_000 }, { backend: MODEL, port: { port: 53, protocol: 'UDP' }, gatewayPort: 20_000 }] }) });
    expect(await portsOf(EAST)).toEqual({ [MODEL]: [20_000, 20_001], [EMBED]: [25_000] });
  });
}

function policyRules(context: Context): void {
  it('a policy is saved, replaced, listed by name and removed, each change once in the audit log', async () => {
    const { store } = context();
    await store.policies.save(policy('b', ['ai']), 'ada');
    await store.policies.save(policy('a', ['ml-*']), 'ada');
    await store.policies.save(policy('b', ['ai', 'rag']), 'bob');
    await store.policies.save(policy('b', ['ai', 'rag']), 'bob');
    expect((await store.policies.list()).map((row) => row.name)).toEqual(['a', 'b']);
    expect(await store.policies.find('b')).toEqual(policy('b', ['ai', 'rag']));
    await store.policies.remove('a', 'ada');
    expect(await codeOf(store.policies.remove('a', 'ada'))).toBe('POLICY_NOT_FOUND');
    const entries = await store.audit.list({ limit: 10 });
    expect(entries.map((entry) => `${entry.by} ${entry.action} ${entry.target}`)).toEqual([
      'ada deletePolicy samenessPolicy/a',
      'bob setSamenessPolicy samenessPolicy/b',
      'ada setSamenessPolicy samenessPolicy/a',
      'ada setSamenessPolicy samenessPolicy/b',
    ]);
    expect(entries[1]).toMatchObject({ before: policy('b', ['ai']), after: policy('b', ['ai', 'rag']) });
    expect(await store.audit.list({ limit: 1, before: entries[1]!.id })).toEqual([entries[2]]);
    expect(await store.audit.list({ limit: 10, target: 'samenessPolicy/b' })).toHaveLength(2);
  });

  it('a freeze keeps its capacities until it is resumed; a second freeze changes nothing', async () => {
    const { store, clock } = context();
    const capacities = new Map([[MODEL, new Map([[EAST, 300.5]])]]);
    const freeze = await store.policies.freeze({ reason: 'maintenance', capacities }, 'ada');
    expect(freeze).toEqual({ reason: 'maintenance', sinceMs: clock.nowMs(), capacities });
    await clock.advance(1);
    expect(await store.policies.freeze({ reason: 'other', capacities: new Map() }, 'bob')).toEqual(freeze);
    expect((await store.changeLog.loadView()).view.freeze).toEqual(freeze);
    await store.policies.resume('bob');
    await store.policies.resume('bob');
    expect((await store.changeLog.loadView()).view.freeze).toBeUndefined();
    expect((await store.audit.list({ limit: 10 })).map((entry) => entry.action)).toEqual(['resumeAutomation', 'freezeAutomation']);
  });

  it('entries that no store method audits can be recorded', async () => {
    const { store, clock } = context();
    await store.audit.record({ by: 'ada', action: 'login', target: 'hub', before: null, after: { ok: true } });
    expect(await store.audit.list({ limit: 5 })).toEqual([{ id: expect.anything(), atMs: clock.nowMs(), by: 'ada', action: 'login', target: 'hub', before: null, after: { ok: true } }]);
  });
}

function changeLogRules(context: Context, harness: FleetStoreHarness): void {
  const started = async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    await enrolled(store, EAST, 'uid-1', 1);
    await store.reports.accept(fullReport(EAST, [backend(MODEL), backend(EMBED)]));
    return store.changeLog.loadView();
  };

  it('every change has the next number, and the view says what it is of', async () => {
    const loaded = await started();
    expect(loaded.history.map((entry) => entry.sequence)).toEqual(Array.from({ length: Number(loaded.sequence) }, (_, index) => BigInt(index + 1)));
    expect(await context().store.changeLog.head()).toEqual({ epoch: loaded.epoch, sequence: loaded.sequence });
  });

  it('changes since a number carry each target once, with its value of now', async () => {
    const { store } = context();
    const { epoch, sequence } = await started();
    const bigger = backend(MODEL, ['10.1.0.1', '10.1.0.2']);
    await store.reports.accept(deltaReport(EAST, { changed: [backend(MODEL, [])] }, [backend(MODEL, []), backend(EMBED)]));
    await store.reports.accept(deltaReport(EAST, { changed: [bigger], removed: [EMBED] }, [bigger]));
    await store.policies.save(policy('a', ['ai']), 'ada');
    await store.policies.save(policy('a', ['ml']), 'ada');
    await store.policies.freeze({ reason: 'r', capacities: new Map() }, 'ada');
    const batch = await store.changeLog.changesSince(epoch, sequence);
    expect(batch?.sequence).toBe(sequence + 6n);
    expect(batch?.changes).toEqual([
      { kind: 'part', sequence: sequence + 2n, clusterId: EAST, name: MODEL, part: { clusterId: EAST, backend: bigger, firstSeenSequence: expect.anything(), gatewayPorts: [] } },
      { kind: 'part', sequence: sequence + 3n, clusterId: EAST, name: EMBED, part: undefined },
      { kind: 'policy', sequence: sequence + 5n, name: 'a', namespaces: ['ai', 'ml'], policy: policy('a', ['ml']) },
      { kind: 'freeze', sequence: sequence + 6n, freeze: expect.objectContaining({ reason: 'r' }) },
    ]);
    expect(await store.changeLog.changesSince(epoch, sequence + 6n)).toEqual({ epoch, sequence: sequence + 6n, mark: batch?.mark, changes: [] });
  });

  it('a removed member is gone with its parts, by name', async () => {
    const { store } = context();
    const { epoch, sequence } = await started();
    await store.membership.remove(EAST, { by: 'worker', fence: undefined });
    const batch = await store.changeLog.changesSince(epoch, sequence);
    expect(batch?.changes).toEqual([
      { kind: 'part', sequence: sequence + 1n, clusterId: EAST, name: EMBED, part: undefined },
      { kind: 'part', sequence: sequence + 2n, clusterId: EAST, name: MODEL, part: undefined },
      { kind: 'member', sequence: sequence + 3n, clusterId: EAST, member: undefined },
    ]);
  });

  it('a number that was pruned, lies ahead, or is of another epoch has no batch', async () => {
    const { store } = context();
    const { epoch, sequence } = await started();
    expect(await store.changeLog.changesSince(epoch, sequence + 1n)).toBeUndefined();
    expect(await store.changeLog.changesSince('other', sequence)).toBeUndefined();
    await store.changeLog.prune(1);
    expect(await store.changeLog.changesSince(epoch, sequence - 2n)).toBeUndefined();
    expect((await store.changeLog.changesSince(epoch, sequence - 1n))?.changes).toHaveLength(1);
    await store.changeLog.prune(0);
    expect(await store.changeLog.changesSince(epoch, sequence)).toEqual({ epoch, sequence, mark: '', changes: [] });
  });

  it('every entry has a mark of its own, the same for every replica; the head carries the last one’s', async () => {
    const { store, clock } = context();
    expect((await store.changeLog.loadView()).mark).toBe('');
    await store.membership.register(registration(EAST), 'ada');
    const first = await store.changeLog.loadView();
    await store.membership.register(registration(WEST), 'ada');
    const batch = await store.changeLog.changesSince(first.epoch, first.sequence);
    const replica = await harness.openReplica(store, clock);
    const marks = await Promise.all([first.sequence, first.sequence + 1n].map((sequence) => replica.changeLog.markOf(sequence)));
    expect(marks).toEqual([first.mark, batch?.mark]);
    expect(new Set([...marks, '']).size).toBe(3);
    expect(await store.changeLog.markOf(first.sequence + 2n)).toBeUndefined();
    await store.changeLog.prune(1);
    expect(await store.changeLog.markOf(first.sequence)).toBeUndefined();
    expect((await store.changeLog.loadView()).mark).toBe(batch?.mark);
  });

  it('another replica hears of a change and reads the same view', async () => {
    const { store, clock } = context();
    await started();
    const replica = await harness.openReplica(store, clock);
    const heard = Promise.withResolvers<void>();
    const end = await replica.changeLog.onAdvance(() => heard.resolve());
    await store.policies.save(policy('a', ['ai']), 'ada');
    await heard.promise;
    await end();
    expect(plainView((await replica.changeLog.loadView()).view)).toEqual(plainView((await store.changeLog.loadView()).view));
  });

  it('concurrent writers leave no gap and no number twice', async () => {
    const { store } = context();
    await started();
    const { sequence } = await store.changeLog.head();
    await Promise.all(Array.from({ length: 40 }, (_, index) => store.policies.save(policy(`p${index}`, ['ai']), 'ada')));
    const { history } = await store.changeLog.loadView();
    expect(history.map((entry) => entry.sequence)).toEqual(Array.from({ length: Number(sequence) + 40 }, (_, index) => BigInt(index + 1)));
  });
}

function leaseRules(context: Context, harness: FleetStoreHarness): void {
  it('one holder at a time; a renewal keeps the fencing token, a new holder has a higher one', async () => {
    const { store } = context();
    const first = await store.leases.acquire('judge', 'a', 60_000);
    expect(await store.leases.acquire('judge', 'b', 60_000)).toBeUndefined();
    expect((await store.leases.acquire('judge', 'a', 60_000))?.fencingToken).toBe(first?.fencingToken);
    await store.leases.release(first!);
    const second = await store.leases.acquire('judge', 'b', 60_000);
    expect(second!.fencingToken).toBeGreaterThan(first!.fencingToken);
    expect(await store.leases.acquire('other', 'a', 60_000)).toBeDefined();
  });

  it('a write of an older holder is refused and changes nothing', async () => {
    const { store } = context();
    await store.membership.register(registration(EAST), 'ada');
    const old = await store.leases.acquire('judge', 'a', 60_000);
    await store.leases.release(old!);
    const fence = await store.leases.acquire('judge', 'b', 60_000);
    expect(await codeOf(store.membership.recordObservation(EAST, { uid: 'uid-1' }, old))).toBe('STORE_FENCED');
    expect(await codeOf(store.reports.judge([{ clusterId: EAST, freshness: 'stale', lastReportAtMs: undefined }], old))).toBe('STORE_FENCED');
    expect(await codeOf(store.policies.freeze({ reason: 'r', capacities: new Map() }, 'hub', old))).toBe('STORE_FENCED');
    expect(await codeOf(store.membership.remove(EAST, { by: 'worker', fence: old }))).toBe('STORE_FENCED');
    expect(await store.membership.find(EAST)).toMatchObject({ freshness: 'joining', cluster: { uid: '' } });
    await store.membership.recordObservation(EAST, { uid: 'uid-1' }, fence);
    expect((await store.membership.find(EAST))?.cluster.uid).toBe('uid-1');
  });

  it('an authority and an admin token are kept once, by whoever comes first', async () => {
    const { store, clock } = context();
    const replica = await harness.openReplica(store, clock);
    expect(await store.hubState.openAuthority()).toBeUndefined();
    const authority = { certificatePem: 'cert-a', privateKeyPem: 'key-a' };
    expect(await store.hubState.saveAuthority(authority)).toEqual(authority);
    expect(await replica.hubState.saveAuthority({ certificatePem: 'cert-b', privateKeyPem: 'key-b' })).toEqual(authority);
    expect(await replica.hubState.openAuthority()).toEqual(authority);
    expect(await store.hubState.saveAdminTokenHash('hash-a')).toBe(true);
    expect(await replica.hubState.saveAdminTokenHash('hash-b')).toBe(false);
    expect(await replica.hubState.adminTokenHash()).toBe('hash-a');
  });

  it('the epoch stays over a restart, and changes on a declared restore, which asks every member for everything', async () => {
    const { store, clock } = context();
    await store.membership.register(registration(EAST), 'ada');
    await enrolled(store, EAST, 'uid-1', 1);
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    const firstPart = (await store.changeLog.loadView()).view.parts.get(MODEL)?.[0];
    const before = await store.hubState.identity();
    expect(await (await harness.openReplica(store, clock)).hubState.identity()).toEqual(before);
    await clock.advance(1_000);
    const after = await store.hubState.declareRestore('ada');
    expect(after).toEqual({ epoch: expect.stringMatching(/^1\..+/), restoreCounter: before.restoreCounter + 1, epochBeganAtMs: clock.nowMs() });
    const restored = await store.changeLog.loadView();
    expect(restored.view.members.get(EAST)).toMatchObject({ freshness: 'joining', firstListComplete: false });
    expect(restored.view.parts.size).toBe(0);
    expect((await store.reports.accept(deltaReport(EAST, {}, [backend(MODEL)]))).resendFull).toBe(true);
    await store.reports.accept(fullReport(EAST, [backend(MODEL)]));
    const batch = await store.changeLog.changesSince(after.epoch, restored.sequence);
    expect(batch?.changes).toEqual([
      { kind: 'part', sequence: restored.sequence + 1n, clusterId: EAST, name: MODEL, part: { ...firstPart } },
      { kind: 'member', sequence: restored.sequence + 2n, clusterId: EAST, member: expect.objectContaining({ freshness: 'fresh', firstListComplete: true }) },
    ]);
    expect((await store.changeLog.loadView()).view.parts.get(MODEL)).toEqual([firstPart]);
  });
}

/** A view as plain arrays, for comparison. */
const plainView = (view: FleetView): unknown => ({ members: [...view.members], parts: [...view.parts].sort(([a], [b]) => (a < b ? -1 : 1)), policies: view.policies, freeze: view.freeze });
