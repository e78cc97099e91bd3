import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { Controller, DEFAULT_CONTROLLER_OPTIONS, SimulatedNodes, startRole, TokenReviewer } from '#apps/spoke';
import { startXdsClient } from '#adapters/xds-grpc';
import { buildMemberManifests } from '#apps/worker';
import { HttpKube, inClusterConnection, memberKubeConnection } from '#adapters/kube';
import { parseKubeconfig } from '#contracts/kubeconfig';
import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { backendName, clusterId } from '#domain/fleet';
import { SystemClock, SystemRandom } from '#platform';
import type { KubeKind, KubeObject } from '#ports';
import { FakeHubLink } from '#testing';
import { applyYaml, gatewayApiCrds, startControlPlane, testbedProblems, type LoneControlPlane } from '#testbed';

import { freePorts } from '../fleet/free-ports.js';
import { eventually } from '../fleet/until.js';

const problems = testbedProblems();
if (problems.length > 0) process.stderr.write(`SKIPPED the controller against a real API server:\n${problems.map((problem) => `  - ${problem}\n`).join('')}`);
const describeHere = problems.length === 0 ? describe : describe.skip;

const SYSTEM = 'spillway-system';
const clock = new SystemClock();

const object = (kind: KubeKind, metadata: KubeObject['metadata'], body: object): KubeObject => ({ apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`, kind: kind.kind, metadata, ...body });

/** What the kubelet mounts into the controller's pod. */
async function serviceAccountFolder({ plane }: LoneControlPlane): Promise<{ readonly host: string; readonly port: string; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-account-'));
  const answer = await plane.api.send<{ status: { token: string } }>('POST', `/api/v1/namespaces/${SYSTEM}/serviceaccounts/spillway-spoke-controller/token`, { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} } });
  writeFileSync(join(folder, 'token'), answer.status.token);
  writeFileSync(join(folder, 'ca.crt'), plane.caPem);
  const { hostname: host, port } = new URL(plane.server);
  return { host, port, folder };
}

describeHere('the controller on a real API server', () => {
  let cluster: LoneControlPlane;
  /** The administrator's. */
  let kube: HttpKube;
  /** The controller's own: it has the rights that the worker gives it, and no more. */
  let own: HttpKube;
  let account: { readonly host: string; readonly port: string; readonly folder: string };
  let controller: Controller;
  let nodeToken = '';
  const nodes = new SimulatedNodes(clock);
  const link = new FakeHubLink(clock);
  const start = (server: SimulatedNodes): Controller => {
    const started = new Controller({ kube: own, link, clock, random: new SystemRandom(), logger: pino({ level: 'silent' }), registry: new Registry(), server }, { ...DEFAULT_CONTROLLER_OPTIONS, lastGoodIntervalMs: 100 });
    started.start();
    return started;
  };
  const status = async (kind: KubeKind, name: string): Promise<string> => JSON.stringify((await kube.find(kind, { namespace: 'ai', name }))?.['status'] ?? {});
  const create = async (kind: KubeKind, metadata: KubeObject['metadata'], body: object): Promise<KubeObject> => kube.create(kind, object(kind, metadata, body));
  const addresses = async (): Promise<string[]> => (await kube.list(KUBE_KINDS.ipAddress, { labelSelector: 'ipaddress.kubernetes.io/managed-by=spillway.dev' })).map((one) => one.metadata.name);

  beforeAll(async () => {
    cluster = await startControlPlane({ name: 'spoke-controller' });
    const parsed = parseKubeconfig(cluster.kubeconfig(), { allowLocalServers: true });
    if (!parsed.ok) throw new Error('the testbed gave a kubeconfig that is not accepted');
    kube = new HttpKube(memberKubeConnection(parsed.connection), { clock, random: new SystemRandom() });
    for (const name of [SYSTEM, 'ai']) await create(KUBE_KINDS.namespace, { name }, {});
    for (const { kind, object: wanted } of buildMemberManifests({ image: 'none', dnsReplicas: 0, clusterDomain: 'cluster.local', logLevel: 'info' })) if (!['Deployment', 'DaemonSet'].includes(kind.kind)) await kube.apply(kind, wanted, 'test');
    account = await serviceAccountFolder(cluster);
    own = new HttpKube(await inClusterConnection({ ...account, clock }), { clock, random: new SystemRandom() });
    nodes.connect('n1');
    link.addToken('t1', 'east-1');
    controller = start(nodes);
  }, 60_000);

  afterAll(async () => {
    await controller?.stop();
    own?.close();
    kube?.close();
    await cluster?.stop();
    if (account !== undefined) rmSync(account.folder, { recursive: true });
  });

  it('without the Gateway API it waits, and begins when the definitions appear', async () => {
    await eventually('an empty plan', () => nodes.snapshot?.clusters.length, (count) => count === 0);
    expect(controller.missingKinds()).toEqual(['GatewayClass', 'Gateway', 'TCPRoute', 'ReferenceGrant', 'CompositeBackend', 'EndpointSelector']);
    for (const text of await gatewayApiCrds()) await applyYaml(cluster.plane.api, text);
    for (const file of readdirSync('helm/spoke/crds')) await applyYaml(cluster.plane.api, readFileSync(join('helm/spoke/crds', file), 'utf8'));
    await eventually('every kind', () => controller.missingKinds(), (kinds) => kinds.length === 0);
  });

  it('every status is one that the API server takes, and a Gateway becomes Programmed', async () => {
    await create(KUBE_KINDS.node, { name: 'n1', labels: { 'topology.kubernetes.io/region': 'east' } }, {}).then((node) => kube.replaceStatus(KUBE_KINDS.node, { ...node, status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Test', message: '', lastHeartbeatTime: new Date().toISOString(), lastTransitionTime: new Date().toISOString() }] } }));
    const agent = { 'app.kubernetes.io/name': 'spillway-spoke', 'app.kubernetes.io/component': 'node' };
    const container = { name: 'c', image: 'none' };
    await create(KUBE_KINDS.serviceAccount, { namespace: SYSTEM, name: 'default' }, {}).catch(() => undefined);
    await create(KUBE_KINDS.serviceAccount, { namespace: 'ai', name: 'default' }, {}).catch(() => undefined);
    await create(KUBE_KINDS.pod, { namespace: SYSTEM, name: 'agent', labels: agent }, { spec: { nodeName: 'n1', containers: [container] } });
    const pod = await create(KUBE_KINDS.pod, { namespace: 'ai', name: 'p1', labels: { app: 'model' } }, { spec: { nodeName: 'n1', containers: [{ ...container, ports: [{ name: 'http', containerPort: 8080 }] }] } });
    await kube.replaceStatus(KUBE_KINDS.pod, { ...pod, status: { phase: 'Running', podIP: '10.1.0.1', podIPs: [{ ip: '10.1.0.1' }], conditions: [{ type: 'Ready', status: 'True' }] } });
    await create(KUBE_KINDS.gatewayClass, { name: 'cluster-ip' }, { spec: { controllerName: 'spillway.dev/cluster-ip' } });
    await create(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' }, { spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'tcp', port: 80, protocol: 'TCP' }] } });
    await create(KUBE_KINDS.endpointSelector, { namespace: 'ai', name: 'model' }, { spec: { selector: { matchLabels: { app: 'model' } }, ports: [{ name: 'http', targetPort: 'http', protocol: 'TCP' }] } });
    await create(KUBE_KINDS.compositeBackend, { namespace: 'ai', name: 'model' }, { spec: { backendRef: { group: 'spillway.dev', kind: 'EndpointSelector', name: 'model' }, ports: [{ port: 80, targetPort: 'http', protocol: 'TCP' }] } });
    await create(KUBE_KINDS.tcpRoute, { namespace: 'ai', name: 'front' }, { spec: { parentRefs: [{ name: 'front' }], rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'CompositeBackend', name: 'model', port: 80 }] }] } });
    await eventually('Gateway', () => status(KUBE_KINDS.gateway, 'front'), (text) => text.includes('Every Ready node'));
    await eventually('TCPRoute', () => status(KUBE_KINDS.tcpRoute, 'front'), (text) => text.includes('spillway.dev/cluster-ip'));
    await eventually('CompositeBackend', () => status(KUBE_KINDS.compositeBackend, 'model'), (text) => text.includes('Programmed') && text.includes('"serving":1'));
    await eventually('EndpointSelector', () => status(KUBE_KINDS.endpointSelector, 'model'), (text) => text.includes('Accepted'));
    expect(nodes.snapshot?.loadAssignments[0]?.localities[0]?.endpoints).toMatchObject([{ address: '10.1.0.1', port: 8080, health: 'HEALTHY' }]);
    expect((await addresses()).length).toBe(1);
  });

  it('an address that a Service holds is not given to a Gateway, and the Gateway says who has it', async () => {
    await create(KUBE_KINDS.service, { namespace: 'ai', name: 'holder' }, { spec: { clusterIP: '10.96.7.7', ports: [{ port: 80 }] } });
    await create(KUBE_KINDS.gateway, { namespace: 'ai', name: 'late' }, { spec: { gatewayClassName: 'cluster-ip', addresses: [{ type: 'IPAddress', value: '10.96.7.7' }], listeners: [{ name: 'tcp', port: 80, protocol: 'TCP' }] } });
    await eventually('refusal', () => status(KUBE_KINDS.gateway, 'late'), (text) => text.includes('AddressNotUsable') && text.includes('holder'));
    await kube.remove(KUBE_KINDS.gateway, { namespace: 'ai', name: 'late' });
    await eventually('gone', () => kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'late' }), (found) => found === undefined);
  });

  it('a Service cannot take the address of a Gateway', async () => {
    const [held] = await addresses();
    await expect(create(KUBE_KINDS.service, { namespace: 'ai', name: 'thief' }, { spec: { clusterIP: held, ports: [{ port: 80 }] } })).rejects.toMatchObject({ code: 'KUBE_INVALID' });
  });

  it('a range of the other family adds an address of it, and cannot be deleted while a Gateway has one', async () => {
    const range = { name: 'six' };
    await create(KUBE_KINDS.serviceCidr, range, { spec: { cidrs: ['fd00:30::/112'] } });
    await eventually('both families', addresses, (held) => held.length === 2 && held.some((address) => address.startsWith('fd00:30::')));
    await eventually('both in the status', () => status(KUBE_KINDS.gateway, 'front'), (text) => text.includes('fd00:30::') && text.includes('10.96.') && text.includes('"Assigned"'));
    await eventually('both served', () => nodes.snapshot?.clusters.flatMap(({ metadata }) => metadata.frontends.flatMap((frontend) => frontend.addresses)), (served) => served?.some((address) => address.startsWith('fd00:30::')) === true);
    await eventually('protected', () => kube.find(KUBE_KINDS.serviceCidr, range), (found) => found?.metadata.finalizers?.includes('spillway.dev/address-protection') === true);
    await kube.remove(KUBE_KINDS.serviceCidr, range);
    await expect(eventually('still there and Terminating', () => kube.find(KUBE_KINDS.serviceCidr, range), (found) => found?.metadata.deletionTimestamp !== undefined)).resolves.toBeDefined();
    expect((await kube.find(KUBE_KINDS.serviceCidr, range))?.metadata.finalizers).toContain('spillway.dev/address-protection');
  });

  it('a UDPRoute gets its status beside a TCPRoute of the same name, and both are served', async () => {
    await create(KUBE_KINDS.gateway, { namespace: 'ai', name: 'names' }, { spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'udp', port: 53, protocol: 'UDP' }, { name: 'tcp', port: 53, protocol: 'TCP' }] } });
    const rules = [{ backendRefs: [{ group: 'spillway.dev', kind: 'EndpointSelector', name: 'dns', port: 5353 }] }];
    await create(KUBE_KINDS.endpointSelector, { namespace: 'ai', name: 'dns' }, { spec: { selector: { matchLabels: { app: 'model' } } } });
    for (const kind of [KUBE_KINDS.udpRoute, KUBE_KINDS.tcpRoute]) await create(kind, { namespace: 'ai', name: 'names' }, { spec: { parentRefs: [{ name: 'names' }], rules } });
    for (const kind of [KUBE_KINDS.udpRoute, KUBE_KINDS.tcpRoute]) await eventually(kind.kind, () => status(kind, 'names'), (text) => text.includes('"Accepted"') && text.includes('"ResolvedRefs"') && !text.includes('"False"'));
    await eventually('both kinds in the status', () => status(KUBE_KINDS.gateway, 'names'), (text) => text.includes('"UDPRoute"') && text.includes('"TCPRoute"') && text.includes('Every Ready node'));
    await eventually('served', () => nodes.snapshot?.clusters.map(({ name }) => name), (names) => names?.includes('selector:ai/dns/5353/UDP') === true && names.includes('selector:ai/dns/5353/TCP'));
    for (const [kind, name] of [[KUBE_KINDS.udpRoute, 'names'], [KUBE_KINDS.tcpRoute, 'names'], [KUBE_KINDS.gateway, 'names']] as const) await kube.remove(kind, { namespace: 'ai', name });
    await eventually('gone', () => kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'names' }), (found) => found === undefined);
  });

  it('a route with a Service as its parent takes over its address and port, and gives them back', async () => {
    const service = await create(KUBE_KINDS.service, { namespace: 'ai', name: 'web' }, { spec: { ports: [{ name: 'http', port: 80 }, { name: 'admin', port: 81 }] } });
    const { clusterIP } = service['spec'] as { clusterIP: string };
    const taken = (): unknown => nodes.snapshot?.clusters.flatMap(({ metadata }) => metadata.frontends.filter(({ kind }) => kind === 'service').map(({ addresses: own, listeners, callers }) => `${own.join()}:${listeners.map(({ port }) => port).join()} ${callers === undefined ? 'everyone' : `${callers.namespace} ${callers.addresses.join()}`}`));
    const parentRefs = [{ group: '', kind: 'Service', name: 'web', port: 80 }];
    await create(KUBE_KINDS.tcpRoute, { namespace: 'ai', name: 'web' }, { spec: { parentRefs, rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'CompositeBackend', name: 'model', port: 80 }] }] } });
    await create(KUBE_KINDS.udpRoute, { namespace: 'ai', name: 'web' }, { spec: { parentRefs, rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'EndpointSelector', name: 'dns', port: 53 }] }] } });
    await eventually('taken over', taken, (all) => JSON.stringify(all) === JSON.stringify([`${clusterIP}:80 everyone`]));
    await eventually('TCPRoute', () => status(KUBE_KINDS.tcpRoute, 'web'), (text) => text.includes('"Accepted"') && text.includes('for all callers'));
    await eventually('UDPRoute', () => status(KUBE_KINDS.udpRoute, 'web'), (text) => text.includes('UnsupportedValue') && text.includes('kube-proxy'));
    await create(KUBE_KINDS.namespace, { name: 'client' }, {});
    await create(KUBE_KINDS.endpointSelector, { namespace: 'client', name: 'mock' }, { spec: { selector: { matchLabels: { app: 'mock' } } } });
    await create(KUBE_KINDS.serviceAccount, { namespace: 'client', name: 'default' }, {}).catch(() => undefined);
    const caller = await create(KUBE_KINDS.pod, { namespace: 'client', name: 'caller' }, { spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'none' }] } });
    await kube.replaceStatus(KUBE_KINDS.pod, { ...caller, status: { phase: 'Running', podIP: '10.1.0.77', podIPs: [{ ip: '10.1.0.77' }] } });
    await create(KUBE_KINDS.tcpRoute, { namespace: 'client', name: 'web' }, { spec: { parentRefs: [{ ...parentRefs[0], namespace: 'ai' }], rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'EndpointSelector', name: 'mock', port: 80 }] }] } });
    await eventually('the callers of a consumer', taken, (all) => JSON.stringify(all)?.includes('client 10.1.0.77') === true);
    await kube.remove(KUBE_KINDS.tcpRoute, { namespace: 'ai', name: 'web' });
    await kube.remove(KUBE_KINDS.tcpRoute, { namespace: 'client', name: 'web' });
    await eventually('handed back', taken, (all) => JSON.stringify(all) === '[]');
  });

  it('ServiceImports are followed once their definition is installed, and lead to the endpoints of every source cluster', async () => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await create(KUBE_KINDS.customResourceDefinition, { name: 'serviceimports.multicluster.x-k8s.io', annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/pull/1' } }, { spec: { group: 'multicluster.x-k8s.io', scope: 'Namespaced', names: { plural: 'serviceimports', singular: 'serviceimport', kind: 'ServiceImport', listKind: 'ServiceImportList' }, versions: [{ name: 'v1alpha1', served: true, storage: true, schema }] } });
    const older = { ...KUBE_KINDS.serviceImport, version: 'v1alpha1' };
    await eventually('the definition', () => kube.list(older).then(() => true, () => false), (served) => served);
    await kube.create(older, object(older, { namespace: 'ai', name: 'shards' }, { spec: { type: 'Headless', ports: [{ name: 'db', port: 5432, protocol: 'TCP' }] } }));
    const labels = { 'multicluster.kubernetes.io/service-name': 'shards', 'multicluster.kubernetes.io/source-cluster': 'west-1' };
    await create(KUBE_KINDS.endpointSlice, { namespace: 'ai', name: 'shards-west', labels }, { addressType: 'IPv4', ports: [{ name: 'db', port: 5432, protocol: 'TCP' }], endpoints: [{ addresses: ['10.2.0.5'], hostname: 'shard-0' }] });
    await eventually('served', () => nodes.snapshot?.loadAssignments.find(({ name }) => name === 'import:ai/shards/5432/TCP')?.localities, (localities) => localities?.[0]?.subZone === 'west-1' && localities[0].endpoints[0]?.hostname === 'shard-0');
    expect(nodes.snapshot?.clusters.find(({ name }) => name === 'import:ai/shards/5432/TCP')?.metadata.frontends).toMatchObject([{ kind: 'service-import', isHeadless: true, dnsNames: ['shards.ai.svc.clusterset.local'] }]);
  });

  it('a token of a node agent speaks for its own node, and no other token does', async () => {
    const reviewer = new TokenReviewer(kube, clock, { namespace: SYSTEM, audience: 'spillway-xds', serviceAccounts: ['spillway-spoke-node'], trustMs: 60_000, refuseMs: 1_000, cacheEntriesMax: 10, asksMax: 16, refusalsPerSourceMax: 20, refusalWindowMs: 60_000 });
    const token = async (account: string, audience: string): Promise<string> => {
      await create(KUBE_KINDS.serviceAccount, { namespace: SYSTEM, name: account }, {}).catch(() => undefined);
      const pod = await create(KUBE_KINDS.pod, { namespace: SYSTEM, name: `${account}-${audience.length}` }, { spec: { nodeName: 'n1', serviceAccountName: account, containers: [{ name: 'c', image: 'none' }] } });
      const spec = { audiences: [audience], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid } };
      const answer = await cluster.plane.api.send<{ status: { token: string } }>('POST', `/api/v1/namespaces/${SYSTEM}/serviceaccounts/${account}/token`, { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec } });
      return answer.status.token;
    };
    nodeToken = await token('spillway-spoke-node', 'spillway-xds');
    expect(await reviewer.review(nodeToken, '10.0.0.1')).toEqual({ serviceAccount: 'spillway-spoke-node', nodeName: 'n1', podName: 'spillway-spoke-node-12' });
    await expect(reviewer.review(await token('someone-else', 'spillway-xds'), '10.0.0.1')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED' });
    await expect(reviewer.review(await token('spillway-spoke-node', 'elsewhere'), '10.0.0.1')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED' });
    await expect(reviewer.review('forged', '10.0.0.1')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED' });
  });

  it('a join token leads to a saved identity, a report and a last good state from which the next start serves', async () => {
    link.setImport({ name: backendName('ai', 'model'), trafficClass: 'endpoints', sessionAffinity: 'None', conflicts: [], refusals: [], memberCount: 2, servingCount: 2, providers: [{ clusterId: clusterId('west-1'), locality: { region: 'west', zone: '' }, path: 'direct', endpoints: [{ address: '10.2.0.1', targetPorts: [8080], ready: true, serving: true, terminating: false, zone: '', node: '' }], ports: [{ port: 80, protocol: 'TCP' }], readyAssumed: 1 }], ports: [{ port: { port: 80, protocol: 'TCP' }, shares: [{ clusterId: clusterId('west-1'), shareBp: 10_000 }] }] });
    await create(KUBE_KINDS.secret, { namespace: SYSTEM, name: 'spillway-join' }, { data: { token: Buffer.from('t1').toString('base64') } });
    await eventually('reported', () => link.reported.get(clusterId('east-1'))?.size, (size) => size === 1);
    await eventually('saved', () => kube.find(KUBE_KINDS.configMap, { namespace: SYSTEM, name: 'spillway-last-good-0' }), (found) => found !== undefined);
    await controller.stop();
    link.goAway();
    const again = new SimulatedNodes(clock);
    again.connect('n1');
    controller = start(again);
    await eventually('served again', () => JSON.stringify(again.snapshot ?? {}), (text) => text.includes('10.2.0.1'));
    expect(again.snapshot).toEqual(nodes.snapshot);
  });

  it('as a process of its own it becomes ready, publishes its CA and serves an xDS client', async () => {
    await controller.stop();
    const [opsPort, xdsPort] = await freePorts(2);
    const role = await startRole('controller', { SPILLWAY_POD_NAME: 'pod-a', SPILLWAY_LOG_LEVEL: 'silent', KUBERNETES_SERVICE_HOST: account.host, KUBERNETES_SERVICE_PORT: account.port, SPILLWAY_SERVICE_ACCOUNT_FOLDER: account.folder, SPILLWAY_OPS_HOST: '127.0.0.1', SPILLWAY_OPS_PORT: String(opsPort), SPILLWAY_XDS_HOST: '127.0.0.1', SPILLWAY_XDS_PORT: String(xdsPort) });
    const get = async (path: string): Promise<string> => fetch(`http://127.0.0.1:${opsPort}${path}`).then((answer) => answer.text());
    await eventually('ready', () => get('/readyz'), (text) => text === 'ok\n');
    const metrics = await get('/metrics');
    expect(metrics).toMatch(/spillway_leader\{[^}]*\} 1/);
    expect(metrics).toMatch(/spillway_watch_synced\{kind="Gateway"[^}]*\} 1/);
    const ca = (await kube.find(KUBE_KINDS.configMap, { namespace: SYSTEM, name: 'spillway-xds-ca' }))?.['data'] as Record<string, string>;
    const received: string[] = [];
    const client = startXdsClient({ target: `127.0.0.1:${xdsPort}`, tls: { readCaPem: async () => ca['ca.crt'] ?? '', serverName: `spillway-spoke-controller.${SYSTEM}.svc` }, readToken: async () => nodeToken, nodeId: 'n1', typeUrls: [CLUSTER_TYPE_URL], onUpdate: async (snapshot) => void received.push(...snapshot.clusters.map((one) => one.name)), clock, random: new SystemRandom(), logger: pino({ level: 'silent' }) });
    await eventually('served', () => received, (names) => names.includes('composite:ai/model/80/TCP'));
    await client.close();
    await role.stop();
    controller = start(nodes);
  });

  it('the leave role gives every address back, takes the finalizers off, and ends', async () => {
    const role = await startRole('leave', { SPILLWAY_LOG_LEVEL: 'silent', KUBERNETES_SERVICE_HOST: account.host, KUBERNETES_SERVICE_PORT: account.port, SPILLWAY_SERVICE_ACCOUNT_FOLDER: account.folder });
    await role.finished;
    await role.stop();
    expect(await addresses()).toEqual([]);
    expect((await kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' }))?.metadata.finalizers ?? []).toEqual([]);
    expect((await kube.find(KUBE_KINDS.serviceCidr, { name: 'kubernetes' }))?.metadata.finalizers ?? []).not.toContain('spillway.dev/address-protection');
  });

  it('the worker\'s request to leave is answered, whatever installation it is', async () => {
    await kube.apply(KUBE_KINDS.namespace, object(KUBE_KINDS.namespace, { name: SYSTEM, annotations: { 'spillway.dev/leave': 'request-1' } }, {}), 'test');
    await eventually('left', () => kube.find(KUBE_KINDS.namespace, { name: SYSTEM }), (found) => found?.metadata.annotations?.['spillway.dev/left'] === 'request-1');
  });
});
