import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { HttpKube, memberKubeConnection } from '#adapters/kube';
import { createPostgresStore } from '#adapters/postgres';
import { createSecretBox } from '#adapters/secret-box';
import { loadWorkerConfig, startWorker, type RunningWorker } from '#apps/worker';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { parseKubeconfig } from '#contracts/kubeconfig';
import { clusterId } from '#domain/fleet';
import { SystemClock, SystemRandom } from '#platform';
import type { ClusterRecord, FleetStore, KubeKind } from '#ports';
import { applyYaml, gatewayApiCrds, startControlPlane, testbedProblems, type LoneControlPlane } from '#testbed';

import { eventually, until } from '../fleet/until.js';
import { startPostgresServer, type PostgresServer } from './postgres-server.js';

const missing = testbedProblems();
const title = `a worker and a real API server${missing.length === 0 ? '' : ` (skipped: ${missing.join(' ')})`}`;
const SYSTEM = 'spillway-system';
const tools = { clock: new SystemClock(), random: new SystemRandom() };

(missing.length === 0 ? describe : describe.skip)(title, () => {
  let postgres: PostgresServer;
  let cluster: LoneControlPlane;
  let store: FleetStore;
  let worker: RunningWorker;
  let kube: HttpKube;
  let record: ClusterRecord | undefined;

  const connect = (kubeconfig: string): HttpKube => {
    const parsed = parseKubeconfig(kubeconfig, { allowLocalServers: true });
    if (!parsed.ok) throw new Error('the testbed gave a kubeconfig that is not accepted');
    return new HttpKube(memberKubeConnection(parsed.connection), tools);
  };
  const register = async (name: string, kubeconfig: string): Promise<void> => {
    const parsed = parseKubeconfig(kubeconfig, { allowLocalServers: true });
    if (!parsed.ok) throw new Error('not accepted');
    await store.membership.register({ id: clusterId(name), labels: {}, region: '', zone: '', network: 'n', credential: { kubeconfig: parsed.text, serverUrl: parsed.connection.server } }, 'ann');
  };
  const condition = (type: string): string => {
    const found = record?.conditions.find((entry) => entry.type === type);
    return `${found?.status} ${found?.reason}`;
  };
  const conditionsOf = async (name: string): Promise<ClusterRecord['conditions'] | undefined> => {
    record = await store.membership.find(clusterId(name));
    return record?.conditions;
  };
  const untilCondition = (name: string, type: string, want: string): Promise<unknown> =>
    eventually(`${type} ${want}`, () => conditionsOf(name), () => condition(type) === want, 30_000);

  beforeAll(async () => {
    [postgres, cluster] = await Promise.all([startPostgresServer(), startControlPlane({ name: 'worker' })]);
    const key = randomBytes(32).toString('base64');
    const connectionString = await postgres.freshDatabase();
    store = createPostgresStore({ connectionString, clock: tools.clock, secretBox: createSecretBox(key) });
    await store.hubState.saveAuthority({ certificatePem: cluster.plane.caPem, privateKeyPem: 'unused' });
    kube = connect(cluster.kubeconfig());
    for (const text of await gatewayApiCrds()) await applyYaml(cluster.plane.api, text);
    worker = await startWorker(
      loadWorkerConfig({
        SPILLWAY_DATABASE_URL: connectionString,
        SPILLWAY_PUBLIC_URL: 'https://hub.example:8443',
        SPILLWAY_ENCRYPTION_KEY: key,
        SPILLWAY_OPS_HOST: '127.0.0.1',
        SPILLWAY_OPS_PORT: '0',
        SPILLWAY_ALLOW_LOCAL_CLUSTERS: 'true',
        SPILLWAY_INSTALL_INTERVAL_MS: '500',
        SPILLWAY_PROBE_INTERVAL_MS: '500',
        SPILLWAY_LEAVE_WAIT_MS: '500',
        SPILLWAY_LOG_LEVEL: 'silent',
      }),
    );
  }, 120_000);

  afterAll(async () => {
    await worker?.stop();
    kube?.close();
    await store?.close();
    await Promise.all([cluster?.stop(), postgres?.stop()]);
  }, 60_000);

  it('is ready once store and queue answer', async () => {
    await until('ready', async () => (await fetch(`${worker.urls.ops}/readyz`)).status === 200);
    expect(await (await fetch(`${worker.urls.ops}/metrics`)).text()).toContain('spillway_worker_reconciles_total');
  });

  it('a credential with too few rights is told which it lacks, and nothing is installed', async () => {
    await kube.create(KUBE_KINDS.serviceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'default', name: 'weak' } });
    await kube.create(KUBE_KINDS.clusterRole, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'weak' }, rules: [{ apiGroups: [''], resources: ['nodes', 'namespaces'], verbs: ['get', 'list'] }] });
    await kube.create(KUBE_KINDS.clusterRoleBinding, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'weak' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'weak' }, subjects: [{ kind: 'ServiceAccount', name: 'weak', namespace: 'default' }] });
    await register('weak', await weakKubeconfig());
    await untilCondition('weak', 'RightsSufficient', 'False VerbsMissing');
    const message = record?.conditions.find((entry) => entry.type === 'RightsSufficient')?.message;
    expect(message).toContain('create daemonsets.apps in spillway-system');
    expect(message).not.toContain('list nodes');
    expect(await kube.find(KUBE_KINDS.namespace, { name: SYSTEM })).toBeUndefined();
    await store.membership.requestRemoval(clusterId('weak'), { force: true, by: 'ann' });
    await until('weak is gone', async () => (await store.membership.find(clusterId('weak'))) === undefined);
  }, 60_000);

  it('installs a spoke, and installing again and again writes nothing', async () => {
    await register('east-1', cluster.kubeconfig());
    await untilCondition('east-1', 'SpokeInstalled', 'True Applied');
    const installedAtMs = record?.conditions.find((entry) => entry.type === 'SpokeInstalled')?.observedAtMs ?? 0;
    const versions = await versionsOfOurs();
    expect(versions.length).toBeGreaterThan(12);
    await until('a second installation', async () => ((await store.membership.find(clusterId('east-1')))?.conditions.find((entry) => entry.type === 'SpokeInstalled')?.observedAtMs ?? 0) > installedAtMs);
    expect(await versionsOfOurs()).toEqual(versions);
    expect(await kube.find(KUBE_KINDS.gatewayClass, { name: 'cluster-ip' })).toBeDefined();
    expect(record?.cluster.uid).toBe((await kube.find(KUBE_KINDS.namespace, { name: 'kube-system' }))?.metadata.uid);
  }, 60_000);

  it('the controller may do what it does, and nothing that it does not', async () => {
    const controller = connect(await tokenKubeconfig(SYSTEM, 'spillway-spoke-controller'));
    const may = async (verb: string, group: string, resource: string, where: { readonly namespace?: string; readonly name?: string; readonly subresource?: string } = {}): Promise<boolean> => {
      const review = await controller.create(KUBE_KINDS.selfSubjectAccessReview, { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', metadata: { name: '' }, spec: { resourceAttributes: { verb, group, resource, ...where } } });
      return (review['status'] as { readonly allowed: boolean }).allowed;
    };
    expect([
      await may('watch', 'gateway.networking.k8s.io', 'gateways'),
      await may('update', 'gateway.networking.k8s.io', 'gateways', { subresource: 'status' }),
      await may('create', 'networking.k8s.io', 'ipaddresses'),
      await may('list', '', 'secrets', { namespace: SYSTEM, name: 'spillway-join' }),
      await may('patch', '', 'namespaces', { name: SYSTEM }),
    ]).toEqual([true, true, true, true, true]);
    expect([await may('get', '', 'secrets', { namespace: 'default' }), await may('list', '', 'secrets', { namespace: SYSTEM }), await may('patch', '', 'namespaces', { name: 'default' }), await may('delete', 'gateway.networking.k8s.io', 'gateways'), await may('create', '', 'pods', { namespace: SYSTEM })]).toEqual([false, false, false, false, false]);
    controller.close();
  });

  it('takes the spoke out again, without its help where there is none', async () => {
    await store.membership.requestRemoval(clusterId('east-1'), { force: false, by: 'ann' });
    await eventually('east-1 is gone', () => conditionsOf('east-1'), () => record === undefined, 30_000);
    expect(await kube.find(KUBE_KINDS.namespace, { name: SYSTEM })).toBeUndefined();
    expect(await kube.find(KUBE_KINDS.clusterRole, { name: 'spillway-spoke-controller' })).toBeUndefined();
    expect(await kube.find(KUBE_KINDS.customResourceDefinition, { name: 'compositebackends.spillway.dev' })).toBeDefined();
  }, 60_000);

  async function versionsOfOurs(): Promise<readonly string[]> {
    const kinds: readonly KubeKind[] = [KUBE_KINDS.namespace, KUBE_KINDS.serviceAccount, KUBE_KINDS.clusterRole, KUBE_KINDS.clusterRoleBinding, KUBE_KINDS.role, KUBE_KINDS.roleBinding, KUBE_KINDS.service, KUBE_KINDS.secret, KUBE_KINDS.gatewayClass];
    const objects = await Promise.all(kinds.map((kind) => kube.list(kind, { labelSelector: 'app.kubernetes.io/managed-by=spillway' })));
    // Controllers write the status of workloads: their generation is what we wrote.
    const workloads = await Promise.all([KUBE_KINDS.deployment, KUBE_KINDS.daemonSet, KUBE_KINDS.customResourceDefinition].map((kind) => kube.list(kind, { labelSelector: 'app.kubernetes.io/managed-by=spillway' })));
    return [...objects.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`), ...workloads.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.generation}`)];
  }

  const weakKubeconfig = (): Promise<string> => tokenKubeconfig('default', 'weak');

  async function tokenKubeconfig(namespace: string, name: string): Promise<string> {
    const request = await kube.create({ group: '', version: 'v1', kind: 'TokenRequest', plural: `serviceaccounts/${name}/token`, namespaced: true }, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: { name: '', namespace }, spec: {} });
    const token = (request['status'] as { readonly token: string }).token;
    const admin = JSON.parse(cluster.kubeconfig()) as { readonly clusters: readonly object[] };
    return JSON.stringify({ ...admin, users: [{ name: 't', user: { token } }], contexts: [{ name: 't', context: { cluster: (admin.clusters[0] as { readonly name: string }).name, user: 't' } }], 'current-context': 't' });
  }
});
