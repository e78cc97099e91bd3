import 'reflect-metadata';

import { createHash, webcrypto } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';
import * as x509 from '@peculiar/x509';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { identityDigest, IDENTITY_ENTRIES, LEAVE_ANNOTATION, LEFT_ANNOTATION, parseJoinToken } from '#contracts/spoke-api';
import { clusterId, FleetError } from '#domain/fleet';
import { createLogger } from '#platform';
import type { ClusterRecord, KubeKind, KubeObject } from '#ports';
import { FakeClock, FakeFleetStore, FakeJobQueue, FakeKube, FakeRandom } from '#testing';

import { buildMemberManifests } from '../member-manifests/index.js';
import { MemberReconciler } from './member-reconciler.js';
import type { WorkerParts } from './worker-parts.js';

/** The member's name. */
const EAST = clusterId('east-1');

const SETTINGS: WorkerParts['settings'] = {
  publicUrl: 'https://hub.example:8443',
  allowLocalClusters: false,
  spoke: { image: 'ghcr.io/spillway-dev/spoke:0.1.0', dnsReplicas: 2, clusterDomain: 'cluster.local', logLevel: 'info' },
  probeIntervalMs: 30_000,
  installIntervalMs: 300_000,
  leaveWaitMs: 60_000,
  holder: 'worker-a',
};

/** A kubeconfig that is accepted, for a server of a name. */
const kubeconfigFor = (host: string): string =>
  JSON.stringify({
    'current-context': 'm',
    contexts: [{ name: 'm', context: { cluster: 'm', user: 'm' } }],
    clusters: [{ name: 'm', cluster: { server: `https://${host}:6443` } }],
    users: [{ name: 'm', user: { token: 'abc' } }],
  });

const GATEWAY_KINDS: readonly KubeKind[] = [KUBE_KINDS.gateway, KUBE_KINDS.gatewayClass, KUBE_KINDS.tcpRoute];

/** One member cluster, a hub's store and a worker. */
class MemberBench {
  readonly clock = new FakeClock();
  readonly store = new FakeFleetStore(this.clock);
  readonly kube = new FakeKube({ strict: true, clock: this.clock });
  /** Makes every attempt to open the member's API fail. */
  refuse: FleetError | undefined;
  /** What a visit is given instead of the API itself. */
  door: FakeKube | undefined;
  /** How often the member's API was opened. */
  opened = 0;
  readonly parts: WorkerParts;
  readonly reconciler: MemberReconciler;
  constructor(settings: Partial<WorkerParts['settings']> = {}) {
    const openKube = (): ReturnType<WorkerParts['openKube']> => {
      this.opened += 1;
      if (this.refuse !== undefined) this.kube.goAway(this.refuse);
      else this.kube.comeBack();
      return { kube: this.door ?? this.kube, close: () => undefined };
    };
    this.parts = { store: this.store, clock: this.clock, openKube, settings: { ...SETTINGS, ...settings }, logger: createLogger({ app: 'test', level: 'silent' }) };
    this.reconciler = new MemberReconciler(this.parts);
  }

  /** A registered member with the Gateway API, a ServiceCIDR and two nodes, one with GPUs. */
  static async registered(settings: Partial<WorkerParts['settings']> = {}): Promise<MemberBench> {
    const bench = new MemberBench(settings);
    await bench.store.hubState.saveAuthority({ certificatePem: await authorityPem(), privateKeyPem: 'unused' });
    for (const kind of GATEWAY_KINDS) await bench.serve(kind);
    bench.kube.seed(KUBE_KINDS.serviceCidr, { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'kubernetes' }, spec: { cidrs: ['172.30.0.0/16'] } });
    bench.kube.seed(KUBE_KINDS.node, nodeObject('n1', {}));
    bench.kube.seed(KUBE_KINDS.node, nodeObject('n2', { 'nvidia.com/gpu': '8' }));
    await bench.register(EAST, 'east.example');
    return bench;
  }

  async register(id: typeof EAST, host: string): Promise<void> {
    await this.store.membership.register({ id, labels: {}, region: 'r', zone: 'z', network: 'n', credential: { kubeconfig: kubeconfigFor(host), serverUrl: `https://${host}:6443` } }, 'ann');
  }

  async serve(kind: KubeKind): Promise<void> {
    const names = { plural: kind.plural, singular: kind.kind.toLowerCase(), kind: kind.kind };
    const spec = { group: kind.group, scope: kind.namespaced ? 'Namespaced' : 'Cluster', names, versions: [{ name: kind.version, served: true, storage: true }] };
    this.kube.seed(KUBE_KINDS.customResourceDefinition, { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: `${kind.plural}.${kind.group}` }, spec });
  }

  async reconcile(): Promise<string> {
    const { nextRunInMs } = await this.reconciler.reconcile(EAST);
    return nextRunInMs === undefined ? 'nothing more' : `again in ${nextRunInMs}`;
  }

  /** The code with which a reconcile fails. */
  async failure(): Promise<string> {
    return this.reconciler.reconcile(EAST).then(
      () => 'none',
      (error: unknown) => (error instanceof FleetError ? `${error.code} ${error.kind}` : String(error)),
    );
  }

  async record(): Promise<ClusterRecord> {
    const record = await this.store.membership.find(EAST);
    if (record === undefined) throw new Error('the member is gone');
    return record;
  }

  async condition(type: string): Promise<string> {
    const found = (await this.record()).conditions.find((entry) => entry.type === type);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  }

  /** The spoke's pods come up, as the member's controllers would count them. */
  async spokeComesUp(): Promise<void> {
    for (const name of ['spillway-spoke-controller', 'spillway-spoke-dns']) await this.#setStatus(KUBE_KINDS.deployment, name, { availableReplicas: 1 });
    await this.#setStatus(KUBE_KINDS.daemonSet, 'spillway-spoke-node', { numberReady: 2, desiredNumberScheduled: 2 });
    for (const component of ['controller', 'dns', 'node']) {
      const labels = { 'app.kubernetes.io/name': 'spillway-spoke', 'app.kubernetes.io/component': component };
      this.kube.seed(KUBE_KINDS.pod, { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'spillway-system', name: `${component}-1`, labels } });
    }
  }

  async #setStatus(kind: KubeKind, name: string, status: object): Promise<void> {
    const object = await this.kube.find(kind, { namespace: 'spillway-system', name });
    if (object === undefined) throw new Error(`${name} is not installed`);
    await this.kube.replaceStatus(kind, { ...object, status });
  }

  /** The spoke enrols: the hub binds it, and it keeps its identity in its Secret. */
  async spokeEnrols(tokenHash: string): Promise<void> {
    const uid = (await this.kube.find(KUBE_KINDS.namespace, { name: 'kube-system' }))?.metadata.uid ?? '';
    const { keyId } = await this.store.enrolment.enrol({ tokenHash, clusterId: EAST, clusterUid: uid, publicKey: Buffer.alloc(32, 1).toString('base64url'), spokeVersion: '0.1.0' }, 1_000);
    const entries = { [IDENTITY_ENTRIES.keyId]: keyId, [IDENTITY_ENTRIES.hubUrl]: SETTINGS.publicUrl };
    this.kube.seed(KUBE_KINDS.secret, secretObject('spillway-identity', { ...entries, [IDENTITY_ENTRIES.digest]: identityDigest(new Map(Object.entries(entries))) }));
  }

  async joinSecret(): Promise<KubeObject | undefined> {
    return this.kube.find(KUBE_KINDS.secret, { namespace: 'spillway-system', name: 'spillway-join' });
  }
}

async function changeEntry(kube: FakeKube, entry: string, text: string): Promise<void> {
  const secret = await kube.find(KUBE_KINDS.secret, { namespace: 'spillway-system', name: 'spillway-identity' });
  if (secret !== undefined) kube.seed(KUBE_KINDS.secret, { ...secret, data: { ...(secret['data'] as object), [entry]: Buffer.from(text).toString('base64') } });
}

const secretObject = (name: string, entries: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'spillway-system', name },
  data: Object.fromEntries(Object.entries(entries).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
});

const nodeObject = (name: string, gpus: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' } },
  status: { allocatable: { cpu: '8', ...gpus }, conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1.37.2' } },
});

let authority: Promise<string> | undefined;
const authorityPem = (): Promise<string> => (authority ??= newAuthorityPem());

async function newAuthorityPem(): Promise<string> {
  x509.cryptoProvider.set(webcrypto as never);
  const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({ name: 'CN=hub', notBefore: new Date(0), notAfter: new Date(4e12), keys, signingAlgorithm });
  return certificate.toString('pem');
}

const SYSTEM = 'spillway-system';
const fail = (code: string, kind: 'transient' | 'user'): FleetError => new FleetError(code, kind, `${code} happened`);
const tokenOf = (secret: KubeObject | undefined): string => Buffer.from((secret?.['data'] as { readonly token: string }).token, 'base64').toString();
const hashOf = (token: string): string => createHash('sha256').update(parseJoinToken(token)?.secret ?? '').digest('hex');

async function installed(settings: Parameters<typeof MemberBench.registered>[0] = {}): Promise<MemberBench> {
  const bench = await MemberBench.registered(settings);
  await bench.reconcile();
  await bench.spokeComesUp();
  await bench.reconcile();
  return bench;
}

describe('a registered member', () => {
  it('is checked, gets its spoke, and its inventory is taken', async () => {
    const bench = await MemberBench.registered();
    expect(await bench.reconcile()).toBe('again in 2000');
    const names = async (kind: (typeof KUBE_KINDS)[keyof typeof KUBE_KINDS]): Promise<string[]> => (await bench.kube.list(kind)).map((object) => object.metadata.name);
    expect(await names(KUBE_KINDS.deployment)).toEqual(['spillway-spoke-controller', 'spillway-spoke-dns']);
    expect(await names(KUBE_KINDS.daemonSet)).toEqual(['spillway-spoke-node']);
    expect(await names(KUBE_KINDS.gatewayClass)).toEqual(['cluster-ip']);
    expect(await names(KUBE_KINDS.customResourceDefinition)).toEqual(expect.arrayContaining(['compositebackends.spillway.dev', 'endpointselectors.spillway.dev']));
    const record = await bench.record();
    expect(record.conditions.filter((entry) => entry.status === 'True').map((entry) => entry.type)).toEqual(['ApiReachable', 'ClockAccurate', 'GatewayApiPresent', 'IdentityConfirmed', 'RightsSufficient', 'ServiceCidrPresent', 'SpokeInstalled', 'VersionSupported']);
    expect(record.versions.kubernetes).toBe('v1.37.2');
    expect(record.inventory).toMatchObject({
      nodeCount: 2,
      readyNodeCount: 2,
      accelerators: [{ product: 'NVIDIA-H100-80GB-HBM3', nodeCount: 1, allocatable: 8 }],
      facts: { serviceCidrs: ['172.30.0.0/16'], kubeletVersions: { 'v1.37.2': 2 } },
    });
  });
  it('gets a join token for its own name that the hub knows', async () => {
    const bench = await MemberBench.registered();
    await bench.reconcile();
    const token = parseJoinToken(tokenOf(await bench.joinSecret()));
    expect(token).toMatchObject({ hubUrl: 'https://hub.example:8443', clusterId: EAST });
    await bench.spokeEnrols(hashOf(tokenOf(await bench.joinSecret())));
    expect((await bench.record()).enrolledAtMs).toBe(bench.clock.nowMs());
  });
  it('is only probed once its spoke runs, and a second installation writes nothing', async () => {
    const bench = await installed();
    expect(await bench.reconcile()).toBe('again in 30000');
    const before = bench.kube.revision;
    await bench.clock.advance(300_000);
    await bench.reconcile();
    expect((await bench.record()).conditions.find((entry) => entry.type === 'SpokeInstalled')?.observedAtMs).toBe(bench.clock.nowMs());
    expect(bench.kube.revision).toBe(before);
  });
  it.each(buildMemberManifests(SETTINGS.spoke).filter(({ kind }) => kind.namespaced || kind.kind !== 'Namespace').map(({ kind, object: { metadata } }) => ({ kind, metadata, name: `${kind.kind} ${metadata.name}` })))('gets back the $name that somebody deleted, at the next look', async ({ kind, metadata }) => {
    const bench = await installed();
    await bench.kube.remove(kind, metadata);
    await bench.reconcile();
    expect(await bench.condition('SpokeRunning')).toBe('False NotInstalled');
    await bench.reconcile();
    expect(await bench.kube.find(kind, metadata)).toBeDefined();
  });
  const startedWith = async (bench: MemberBench, kind: KubeKind, name: string): Promise<string | undefined> => {
    const spec = (await bench.kube.find(kind, { namespace: SYSTEM, name }))?.['spec'] as { readonly template: { readonly metadata: KubeObject['metadata'] } };
    return spec.template.metadata.annotations?.['spillway.dev/started-with'];
  };
  it('rolls out the pods whose ServiceAccount was made anew, and no others: their tokens are worth nothing', async () => {
    const bench = await installed();
    const before = [await startedWith(bench, KUBE_KINDS.daemonSet, 'spillway-spoke-node'), await startedWith(bench, KUBE_KINDS.deployment, 'spillway-spoke-dns')];
    await bench.kube.remove(KUBE_KINDS.serviceAccount, { namespace: SYSTEM, name: 'spillway-spoke-node' });
    await bench.reconcile();
    await bench.reconcile();
    const after = [await startedWith(bench, KUBE_KINDS.daemonSet, 'spillway-spoke-node'), await startedWith(bench, KUBE_KINDS.deployment, 'spillway-spoke-dns')];
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });
  it('rolls out the pods that know the controller by an address that is no more', async () => {
    const bench = await installed();
    const ref = { namespace: SYSTEM, name: 'spillway-spoke-controller' };
    const before = [await startedWith(bench, KUBE_KINDS.daemonSet, 'spillway-spoke-node'), await startedWith(bench, KUBE_KINDS.deployment, 'spillway-spoke-controller')];
    const service = await bench.kube.find(KUBE_KINDS.service, ref);
    await bench.kube.remove(KUBE_KINDS.service, ref);
    bench.kube.seed(KUBE_KINDS.service, { ...service!, spec: { ...(service!['spec'] as object), clusterIP: '172.30.0.99' } });
    await bench.clock.advance(300_000);
    await bench.reconcile();
    const after = [await startedWith(bench, KUBE_KINDS.daemonSet, 'spillway-spoke-node'), await startedWith(bench, KUBE_KINDS.deployment, 'spillway-spoke-controller')];
    expect(after[0]).toContain('172.30.0.99');
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });
  it('gets back what somebody changed, at the next installation', async () => {
    const bench = await installed();
    const ref = { namespace: SYSTEM, name: 'spillway-spoke-controller' };
    const role = await bench.kube.find(KUBE_KINDS.role, ref);
    await bench.kube.replace(KUBE_KINDS.role, { ...role!, rules: [] });
    await bench.clock.advance(300_000);
    await bench.reconcile();
    expect((await bench.kube.find(KUBE_KINDS.role, ref))?.['rules']).not.toEqual([]);
  });
  it('without the Gateway API gets all but the GatewayClass, and that once the API is there', async () => {
    const bench = await MemberBench.registered();
    for (const name of ['tcproutes', 'gateways', 'gatewayclasses']) await bench.kube.remove(KUBE_KINDS.customResourceDefinition, { name: `${name}.gateway.networking.k8s.io` });
    await bench.reconcile();
    expect([await bench.condition('GatewayApiPresent'), await bench.condition('SpokeInstalled')]).toEqual(['False TcpRouteMissing', 'True Applied']);
    await bench.serve(KUBE_KINDS.gatewayClass);
    await bench.clock.advance(300_000);
    await bench.reconcile();
    expect(await bench.kube.find(KUBE_KINDS.gatewayClass, { name: 'cluster-ip' })).toBeDefined();
  });
  it('that the hub has no kubeconfig of is judged by its spoke alone', async () => {
    const bench = new MemberBench();
    await bench.store.membership.register({ id: EAST, labels: {}, region: 'r', zone: 'z', network: 'n', credential: undefined }, 'ann');
    expect(await bench.reconcile()).toBe('again in 30000');
    expect((await bench.record()).conditions.map((entry) => `${entry.type} ${entry.reason}`)).toEqual(['SpokeReporting NeverReported']);
    expect(bench.opened).toBe(0);
  });
  it('that is gone is nothing to do', async () => {
    expect(await new MemberBench().reconcile()).toBe('nothing more');
  });
});

describe('join tokens', () => {
  it('an enrolled spoke gets no new one', async () => {
    const bench = await installed();
    const token = tokenOf(await bench.joinSecret());
    await bench.spokeEnrols(hashOf(token));
    await bench.clock.advance(48 * 3_600_000);
    await bench.reconcile();
    expect(tokenOf(await bench.joinSecret())).toBe(token);
  });
  it('a spoke that never enrolled gets a new one before the old one ends', async () => {
    const bench = await installed();
    const token = tokenOf(await bench.joinSecret());
    await bench.clock.advance(13 * 3_600_000);
    await bench.reconcile();
    expect(tokenOf(await bench.joinSecret())).not.toBe(token);
  });
  it.each([
    { name: 'lost its identity', damage: (kube: FakeKube) => kube.remove(KUBE_KINDS.secret, { namespace: SYSTEM, name: 'spillway-identity' }) },
    { name: 'has its identity changed by somebody', damage: async (kube: FakeKube) => changeEntry(kube, IDENTITY_ENTRIES.privateKey, 'another') },
  ])('a spoke that $name gets a new one, once', async ({ damage }) => {
    const bench = await installed();
    const token = tokenOf(await bench.joinSecret());
    await bench.clock.advance(1_000);
    await bench.spokeEnrols(hashOf(token));
    await damage(bench.kube);
    await bench.clock.advance(300_000);
    await bench.reconcile();
    const renewed = tokenOf(await bench.joinSecret());
    expect(renewed).not.toBe(token);
    await bench.clock.advance(300_000);
    await bench.reconcile();
    expect(tokenOf(await bench.joinSecret())).toBe(renewed);
  });
  it('a spoke that is bound to a database that is gone gets a token of the new one, though the old Secrets are there', async () => {
    const bench = await installed();
    const token = tokenOf(await bench.joinSecret());
    await bench.spokeEnrols(hashOf(token));
    bench.store.putBack(new FakeFleetStore(bench.clock).backup());
    await bench.store.hubState.saveAuthority({ certificatePem: await newAuthorityPem(), privateKeyPem: 'unused' });
    await bench.register(EAST, 'east.example');
    await bench.reconcile();
    const renewed = tokenOf(await bench.joinSecret());
    expect(parseJoinToken(renewed)?.caFingerprint).not.toBe(parseJoinToken(token)?.caFingerprint);
    await bench.spokeEnrols(hashOf(renewed));
    await bench.clock.advance(300_000);
    await bench.reconcile();
    expect(tokenOf(await bench.joinSecret())).toBe(renewed);
  });
  it('a spoke that enrolled after the backup that was put back gets a token that the backup holds', async () => {
    const bench = await MemberBench.registered();
    const backup = bench.store.backup();
    await bench.reconcile();
    const token = tokenOf(await bench.joinSecret());
    await bench.spokeEnrols(hashOf(token));
    bench.store.putBack(backup);
    await bench.reconcile();
    const renewed = tokenOf(await bench.joinSecret());
    expect(renewed).not.toBe(token);
    expect(await bench.store.enrolment.findJoinToken(hashOf(renewed))).toMatchObject({ clusterId: EAST, isUsed: false });
  });
  it('a spoke whose hub moved to another address gets a token that says where', async () => {
    const bench = await installed();
    await bench.spokeEnrols(hashOf(tokenOf(await bench.joinSecret())));
    await bench.clock.advance(300_000);
    const moved = { ...bench.parts, settings: { ...bench.parts.settings, publicUrl: 'https://new.example:8443' } };
    await new MemberReconciler(moved).reconcile(EAST);
    expect(parseJoinToken(tokenOf(await bench.joinSecret()))?.hubUrl).toBe('https://new.example:8443');
  });
});

describe('a member that does not answer', () => {
  it.each([
    { error: fail('KUBE_UNREACHABLE', 'transient'), want: 'False Unreachable' },
    { error: fail('KUBE_DNS', 'transient'), want: 'False NameUnresolved' },
    { error: fail('KUBE_TIMEOUT', 'transient'), want: 'False TimedOut' },
    { error: fail('KUBE_TLS_UNTRUSTED', 'user'), want: 'False CaMismatch' },
    { error: fail('KUBE_TLS_EXPIRED', 'user'), want: 'False ServerCertificateExpired' },
    { error: fail('KUBE_CLIENT_CERT_EXPIRED', 'user'), want: 'False ClientCertificateExpired' },
    { error: fail('KUBE_UNAUTHORIZED', 'user'), want: 'False Unauthorized' },
    { error: fail('KUBE_ADDRESS_REFUSED', 'user'), want: 'False AddressRefused' },
  ])('with $error.code is $want, and the error sets the next try', async ({ error, want }) => {
    const bench = await MemberBench.registered();
    bench.refuse = error;
    expect(await bench.failure()).toBe(`${error.code} ${error.kind}`);
    expect(await bench.condition('ApiReachable')).toBe(want);
  });
  it('keeps what was last known of it, and its spoke is not judged by its API', async () => {
    const bench = await installed();
    const before = await bench.record();
    await bench.clock.advance(60_000);
    bench.refuse = fail('KUBE_UNREACHABLE', 'transient');
    expect(await bench.failure()).toBe('KUBE_UNREACHABLE transient');
    const after = await bench.record();
    expect(after.inventory).toEqual(before.inventory);
    const others = (record: typeof before): unknown => record.conditions.filter((entry) => !['ApiReachable', 'SpokeReporting'].includes(entry.type));
    expect(others(after)).toEqual(others(before));
    expect(after.freshness).toBe(before.freshness);
    expect(await bench.condition('SpokeReporting')).toBe('Unknown NeverReported');
  });
  it('is tried for ever, at most a minute apart, and well again as soon as it answers', async () => {
    const bench = await MemberBench.registered();
    bench.refuse = fail('KUBE_UNREACHABLE', 'transient');
    const queue = new FakeJobQueue({ clock: bench.clock, random: new FakeRandom(7) });
    const delays: number[] = [];
    await queue.process({
      reconcile: (key) => bench.reconciler.reconcile(key),
      resyncKeys: async () => [EAST],
      resyncEveryMs: 300_000,
      concurrency: 2,
      failed: (_key, _error, nextRunInMs) => delays.push(nextRunInMs),
    });
    await bench.clock.advance(0);
    await bench.clock.advance(2 * 3_600_000);
    expect(delays.length).toBeGreaterThan(120);
    expect(Math.max(...delays)).toBeLessThanOrEqual(60_000);
    bench.refuse = undefined;
    await bench.clock.advance(60_000);
    expect(await bench.condition('SpokeInstalled')).toBe('True Applied');
    await queue.close();
  });
});

describe('a member that is not fit', () => {
  it('with missing rights hears which, and nothing is installed', async () => {
    const bench = await MemberBench.registered();
    bench.kube.forbid('create', 'apps', 'daemonsets');
    bench.kube.forbid('list', '', 'nodes');
    const before = bench.kube.revision;
    expect(await bench.failure()).toBe('PREFLIGHT_FAILED user');
    const record = await bench.record();
    expect(record.conditions.find((entry) => entry.type === 'RightsSufficient')?.message).toBe('The credential may not: create daemonsets.apps in spillway-system; list nodes. Grant these verbs.');
    expect(record.conditions.find((entry) => entry.type === 'SpokeInstalled')?.message).toContain('list nodes');
    expect(await bench.condition('ApiReachable')).toBe('True Answered');
    expect(bench.kube.revision).toBe(before);
  });
  it.each([
    { name: 'too old', break: (bench: MemberBench) => (bench.kube.version = 'v1.32.4'), type: 'VersionSupported', want: 'False TooOld' },
    { name: 'without service addresses', break: (bench: MemberBench) => bench.kube.remove(KUBE_KINDS.serviceCidr, { name: 'kubernetes' }), type: 'ServiceCidrPresent', want: 'False None' },
  ])('$name is told so, and nothing is installed', async ({ break: makeUnfit, type, want }) => {
    const bench = await MemberBench.registered();
    await makeUnfit(bench);
    expect(await bench.failure()).toBe('PREFLIGHT_FAILED user');
    expect([await bench.condition(type), await bench.condition('SpokeInstalled')]).toEqual([want, 'False PreflightFailed']);
    expect(await bench.kube.find(KUBE_KINDS.namespace, { name: SYSTEM })).toBeUndefined();
  });
  it('with a clock two hours off is told so, and installed', async () => {
    const bench = await MemberBench.registered();
    bench.kube.clockOffsetMs = 7_200_000;
    await bench.reconcile();
    expect([await bench.condition('ClockAccurate'), await bench.condition('SpokeInstalled')]).toEqual(['False ClockSkewed', 'True Applied']);
  });
  it('that is a member under another name is told so, and nothing is installed', async () => {
    const bench = await MemberBench.registered();
    await bench.register(clusterId('other'), 'other.example');
    await bench.reconciler.reconcile('other');
    const before = bench.kube.revision;
    expect(await bench.failure()).toBe('CLUSTER_UID_TAKEN user');
    expect(await bench.condition('IdentityConfirmed')).toBe('False UidTaken');
    expect(bench.kube.revision).toBe(before);
  });
  it('that is another cluster under its name is told so, and nothing is installed', async () => {
    const bench = await MemberBench.registered();
    await bench.store.membership.recordObservation(EAST, { uid: 'another-cluster' }, undefined);
    const before = bench.kube.revision;
    expect(await bench.failure()).toBe('CLUSTER_UID_CHANGED user');
    expect(await bench.condition('IdentityConfirmed')).toBe('False UidChanged');
    expect(bench.kube.revision).toBe(before);
  });
  it('whose kubeconfig the rules no longer accept is not called at all', async () => {
    const bench = new MemberBench();
    await bench.register(EAST, '127.0.0.1');
    expect(await bench.failure()).toBe('KUBECONFIG_REFUSED user');
    expect(await bench.condition('ApiReachable')).toBe('False KubeconfigRefused');
    expect(bench.opened).toBe(0);
  });
  it('whose API refuses one of our objects is told which', async () => {
    const bench = await MemberBench.registered();
    bench.kube.forbid('patch', '', 'namespaces');
    // An administrator's credential that an admission policy stops: reviews say yes, the write says no.
    const reviews = bench.kube.create.bind(bench.kube);
    bench.kube.create = async (kind, object) => (kind.kind === 'SelfSubjectAccessReview' ? { ...object, status: { allowed: true } } : reviews(kind, object));
    expect(await bench.failure()).toBe('KUBE_FORBIDDEN user');
    expect(await bench.condition('SpokeInstalled')).toBe('False ApplyFailed');
  });
});

describe('a member that is to leave', () => {
  const finalizer = 'spillway.dev/address-protection';
  async function leaving(): Promise<MemberBench> {
    const bench = await installed();
    const gateway: KubeObject = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'front', namespace: 'default', finalizers: [finalizer, 'others/own'] }, spec: {} };
    bench.kube.seed(KUBE_KINDS.gateway, gateway);
    bench.kube.seed(KUBE_KINDS.ipAddress, { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name: '172.30.9.9', labels: { 'ipaddress.kubernetes.io/managed-by': 'spillway.dev' } } });
    bench.kube.seed(KUBE_KINDS.ipAddress, { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name: '172.30.0.1', labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' } } });
    bench.kube.seed(KUBE_KINDS.compositeBackend, { apiVersion: 'spillway.dev/v1alpha1', kind: 'CompositeBackend', metadata: { name: 'model', namespace: 'default' }, spec: {} });
    await bench.store.membership.requestRemoval(EAST, { force: false, by: 'ann' });
    return bench;
  }
  const namespaceOf = async (bench: MemberBench): Promise<KubeObject | undefined> => bench.kube.find(KUBE_KINDS.namespace, { name: SYSTEM });
  const saysLeft = async (bench: MemberBench): Promise<void> => {
    const request = (await namespaceOf(bench))?.metadata.annotations?.[LEAVE_ANNOTATION] ?? '';
    await bench.kube.apply(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM, annotations: { [LEFT_ANNOTATION]: request } } }, 'spillway-spoke-controller');
  };
  const podEnds = async (bench: MemberBench, ...names: string[]): Promise<void> => {
    for (const name of names) await bench.kube.remove(KUBE_KINDS.pod, { namespace: SYSTEM, name: `${name}-1` });
  };
  const isGone = async (bench: MemberBench): Promise<boolean> => (await bench.store.membership.find(EAST)) === undefined;

  it('touches nothing behind a UID that is not its own: a second name for a member does not take the member down', async () => {
    const bench = await leaving();
    // The same kubeconfig now leads to a cluster that this name was never bound to.
    const kubeSystem = await bench.kube.find(KUBE_KINDS.namespace, { name: 'kube-system' });
    bench.kube.seed(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { ...kubeSystem?.metadata, name: 'kube-system', uid: 'another-cluster' } });
    await bench.reconcile();
    expect(await isGone(bench)).toBe(true);
    expect((await namespaceOf(bench))?.metadata.annotations?.[LEAVE_ANNOTATION]).toBeUndefined();
    expect(await bench.kube.find(KUBE_KINDS.ipAddress, { name: '172.30.9.9' })).toBeDefined();
  });

  it('goes step by step: routes, node agents, the other pods, what is ours; and then it is no member any more', async () => {
    const bench = await leaving();
    const stages: string[] = [];
    const step = async (): Promise<void> => {
      await bench.reconcile();
      stages.push((await isGone(bench)) ? 'gone' : (await bench.condition('Leaving')).replace('True ', ''));
    };
    await step();
    await step();
    await saysLeft(bench);
    await step();
    expect(await bench.kube.find(KUBE_KINDS.deployment, { namespace: SYSTEM, name: 'spillway-spoke-controller' })).toBeDefined();
    await podEnds(bench, 'node');
    await step();
    await podEnds(bench, 'controller', 'dns');
    await step();
    expect(stages).toEqual(['SpokeAsked', 'SpokeLeaving', 'NodeAgentsEnding', 'PodsEnding', 'gone']);
  });
  it('leaves nothing of ours, and touches nothing of others', async () => {
    const bench = await leaving();
    await bench.reconcile();
    await saysLeft(bench);
    await podEnds(bench, 'node', 'controller', 'dns');
    await bench.reconcile();
    expect(await isGone(bench)).toBe(true);
    expect(await namespaceOf(bench)).toBeUndefined();
    expect(await bench.kube.list(KUBE_KINDS.clusterRole)).toEqual([]);
    expect(await bench.kube.list(KUBE_KINDS.clusterRoleBinding)).toEqual([]);
    expect(await bench.kube.list(KUBE_KINDS.gatewayClass)).toEqual([]);
    expect((await bench.kube.list(KUBE_KINDS.ipAddress)).map((object) => object.metadata.name)).toEqual(['172.30.0.1']);
    expect((await bench.kube.list(KUBE_KINDS.gateway)).map((object) => object.metadata.finalizers)).toEqual([['others/own']]);
    expect((await bench.kube.list(KUBE_KINDS.compositeBackend)).map((object) => object.metadata.name)).toEqual(['model']);
  });
  it('goes without the spoke when that does not answer in time', async () => {
    const bench = await leaving();
    await bench.reconcile();
    await bench.clock.advance(59_000);
    await bench.reconcile();
    expect(await bench.condition('Leaving')).toBe('True SpokeLeaving');
    await bench.clock.advance(1_000);
    await bench.reconcile();
    expect(await bench.condition('Leaving')).toBe('True NodeAgentsEnding');
    await bench.clock.advance(60_000);
    await bench.reconcile();
    expect(await isGone(bench)).toBe(true);
    expect(await bench.kube.list(KUBE_KINDS.ipAddress)).toHaveLength(1);
  });
  it('is not asked twice, whoever looks', async () => {
    const bench = await leaving();
    await bench.reconcile();
    await bench.clock.advance(5_000);
    await new MemberReconciler({ ...bench.parts, settings: { ...bench.parts.settings, holder: 'worker-b' } }).reconcile(EAST);
    const revision = bench.kube.revision;
    await bench.reconcile();
    expect(bench.kube.revision).toBe(revision);
  });
  it('and cannot be reached stays a member that is tried for ever', async () => {
    const bench = await leaving();
    bench.refuse = fail('KUBE_UNREACHABLE', 'transient');
    expect(await bench.failure()).toBe('KUBE_UNREACHABLE transient');
    expect(await bench.condition('ApiReachable')).toBe('False Unreachable');
  });
  it('by force is forgotten without a call, and what is left to do by hand is on record', async () => {
    const bench = await leaving();
    const opened = bench.opened;
    await bench.store.membership.requestRemoval(EAST, { force: true, by: 'bob' });
    expect(await bench.reconcile()).toBe('nothing more');
    expect({ isGone: await isGone(bench), calls: bench.opened - opened }).toEqual({ isGone: true, calls: 0 });
    const [entry] = await bench.store.audit.list({ limit: 1 });
    expect(entry).toMatchObject({ by: 'ann', action: 'clusterForgotten', target: 'cluster/east-1', after: { leftToDo: expect.arrayContaining(['kubectl delete namespace spillway-system']) } });
  });
  it('and never had a kubeconfig needs force, and says so', async () => {
    const bench = new MemberBench();
    await bench.store.membership.register({ id: EAST, labels: {}, region: 'r', zone: 'z', network: 'n', credential: undefined }, 'ann');
    await bench.store.membership.requestRemoval(EAST, { force: false, by: 'ann' });
    expect(await bench.failure()).toBe('REMOVAL_NEEDS_FORCE user');
    expect(await bench.condition('Leaving')).toBe('False NoKubeconfig');
  });
});

describe('a member whose API fails one request, whichever', () => {
  /** The API, with one request in a row of them that fails; counts them. */
  function failingAt(kube: FakeKube, at: number, error: FleetError): { readonly door: FakeKube; readonly count: () => number } {
    let requests = 0;
    const door = new Proxy(kube, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target) as unknown;
        if (typeof member !== 'function' || !REQUESTS.has(String(name))) return member;
        return async (...args: unknown[]): Promise<unknown> => {
          requests += 1;
          if (requests === at) throw error;
          return Reflect.apply(member, target, args) as unknown;
        };
      },
    });
    return { door, count: () => requests };
  }
  const REQUESTS = new Set(['find', 'list', 'create', 'apply', 'replace', 'replaceStatus', 'remove', 'serverInfo', 'raw']);
  const NEVER = 0;
  const KINDS = Object.values(KUBE_KINDS).filter(({ kind }) => !kind.endsWith('Review') && kind !== 'Secret');
  const content = async (kube: FakeKube): Promise<string[]> => {
    const lists = await Promise.all(KINDS.map((kind) => kube.list(kind).catch(() => [])));
    return lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${(metadata.finalizers ?? []).join()}`).sort();
  };
  const failures = [fail('KUBE_UNREACHABLE', 'transient'), fail('KUBE_FORBIDDEN', 'user')];
  /** Reconciles until it is well, as the queue does. */
  const untilWell = async (bench: MemberBench, isWell: () => Promise<boolean>): Promise<void> => {
    for (let turn = 0; turn < 12 && !(await isWell()); turn += 1) {
      await bench.failure();
      await bench.clock.advance(30_000);
    }
  };

  it('gets the same spoke as any other in the end', async () => {
    const run = async (at: number, error: FleetError): Promise<{ readonly count: number; readonly content: string[] }> => {
      const bench = await MemberBench.registered();
      const { door, count } = failingAt(bench.kube, at, error);
      bench.door = door;
      await untilWell(bench, async () => (await bench.condition('SpokeInstalled')) === 'True Applied');
      return { count: count(), content: await content(bench.kube) };
    };
    const [first] = failures;
    const clean = await run(NEVER, first!);
    expect(clean.count).toBeGreaterThan(20);
    for (const error of failures) for (let at = 1; at <= clean.count; at += 1) expect({ at, content: (await run(at, error)).content }).toEqual({ at, content: clean.content });
  });

  it('leaves, and nothing of ours stays', async () => {
    const run = async (at: number, error: FleetError): Promise<{ readonly count: number; readonly isGone: boolean; readonly content: string[] }> => {
      const bench = await installed();
      bench.kube.seed(KUBE_KINDS.gateway, { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'front', namespace: 'default', finalizers: ['spillway.dev/address-protection'] }, spec: {} });
      bench.kube.seed(KUBE_KINDS.ipAddress, { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name: '172.30.9.9', labels: { 'ipaddress.kubernetes.io/managed-by': 'spillway.dev' } } });
      // Somebody was faster with some of it.
      await bench.kube.remove(KUBE_KINDS.deployment, { namespace: SYSTEM, name: 'spillway-spoke-controller' });
      await bench.kube.remove(KUBE_KINDS.clusterRoleBinding, { name: 'spillway-spoke-controller' });
      for (const name of ['node', 'controller', 'dns']) await bench.kube.remove(KUBE_KINDS.pod, { namespace: SYSTEM, name: `${name}-1` });
      await bench.store.membership.requestRemoval(EAST, { force: false, by: 'ann' });
      const { door, count } = failingAt(bench.kube, at, error);
      bench.door = door;
      const isGone = async (): Promise<boolean> => (await bench.store.membership.find(EAST)) === undefined;
      await untilWell(bench, isGone);
      return { count: count(), isGone: await isGone(), content: await content(bench.kube) };
    };
    const [first] = failures;
    const clean = await run(NEVER, first!);
    expect(clean.isGone).toBe(true);
    expect(clean.content.join()).not.toMatch(/spillway-spoke|spillway-system|172\.30\.9\.9|address-protection/);
    for (const error of failures) for (let at = 1; at <= clean.count; at += 1) expect({ at, ...(await run(at, error)), count: 0 }).toEqual({ at, ...clean, count: 0 });
  });
});

describe('one worker for a member', () => {
  it('another worker that has the member is left alone', async () => {
    const bench = await MemberBench.registered();
    await bench.store.leases.acquire('member/east-1', 'worker-b', 60_000);
    expect(await bench.reconcile()).toBe('again in 2000');
    expect(bench.opened).toBe(0);
  });
  it('a worker that slept while another took over writes nothing', async () => {
    const bench = await MemberBench.registered();
    const asleep = new MemberReconciler({
      ...bench.parts,
      openKube: (connection) => {
        const opened = bench.parts.openKube(connection);
        const serverInfo = bench.kube.serverInfo.bind(bench.kube);
        bench.kube.serverInfo = async () => {
          await bench.clock.advance(61_000);
          await bench.store.leases.acquire('member/east-1', 'worker-b', 60_000);
          return serverInfo();
        };
        return opened;
      },
    });
    await expect(asleep.reconcile(EAST)).rejects.toMatchObject({ code: 'STORE_FENCED', kind: 'transient' });
    expect((await bench.record()).conditions).toEqual([]);
  });
});
