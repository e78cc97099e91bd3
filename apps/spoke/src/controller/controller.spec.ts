import { afterEach, describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { LEAVE_ANNOTATION, LEFT_ANNOTATION } from '#contracts/spoke-api';
import { backendName, clusterId } from '#domain/fleet';
import type { KubeObject } from '#ports';
import { FakeHubLink, settle, until } from '#testing';

import { SimulatedNodes } from '../simulated/simulated-nodes.js';
import { addGateway, addNode, addPod, addRoute, cluster, condition, endpoints, gatewayStatus, imported, ipAddresses, join, object, planOf, start, stop, stopAll, SYSTEM, withRecordedWrites } from './controller.fixture.js';

afterEach(stopAll);

describe('controller', () => {
  it('a Gateway gets an address of the service range, a status, and is served', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', true);
    nodes.connect('n1');
    start(parts);
    await until('programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
    const [address] = await ipAddresses(kube);
    expect(address).toMatch(/^172\.30\./);
    expect(await gatewayStatus(kube, 'front')).toMatchObject({ addresses: [{ type: 'IPAddress', value: address }] });
    expect(planOf(nodes)?.frontends).toMatchObject([{ namespace: 'ai', name: 'front', addresses: [address], dnsNames: ['front.ai.gw.cluster.local'] }]);
    expect(endpoints(nodes)).toEqual(['local@10.1.0.1:8080 ready 10000']);
    expect((await kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' }))?.metadata.finalizers).toEqual(['spillway.dev/address-protection']);
    const gatewayClass = await kube.find(KUBE_KINDS.gatewayClass, { name: 'cluster-ip' });
    expect(gatewayClass?.['status']).toMatchObject({ conditions: [{ type: 'Accepted', status: 'True' }] });
    const route = await kube.find(KUBE_KINDS.tcpRoute, { namespace: 'ai', name: 'front' });
    expect(route?.['status']).toMatchObject({ parents: [{ controllerName: 'spillway.dev/cluster-ip', conditions: expect.arrayContaining([expect.objectContaining({ type: 'Accepted', status: 'True' })]) }] });
  });

  it('once everything is right, nothing is written any more', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    nodes.connect('n1');
    const controller = start(parts);
    await until('programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
    await clock.advance(1_000);
    const secondsOfWrites = kube.revision;
    addPod(kube, 'unrelated-to-status', '10.1.0.7', false);
    await clock.advance(2_000);
    // The pod itself is one write; the Lease is renewed beside it.
    const leaseRenewals = 2;
    expect(kube.revision - secondsOfWrites).toBeLessThanOrEqual(1 + leaseRenewals);
    await stop(controller);
  });

  it('of two Gateways that want one static address, the older has it and the other says so', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    nodes.connect('n1');
    addGateway(kube, 'first', [{ value: '172.30.9.9' }]);
    await clock.advance(2_000);
    addGateway(kube, 'second', [{ value: '172.30.9.9' }]);
    start(parts);
    await until('first programmed', async () => (await condition(kube, 'first', 'Programmed')) === 'True', clock);
    await until('second refused', async () => (await gatewayStatus(kube, 'second')).conditions?.some((one) => one.type === 'Programmed' && one.status === 'False' && one.reason === 'AddressNotUsable'), clock);
    expect(await ipAddresses(kube)).toEqual(['172.30.9.9']);
    expect((await gatewayStatus(kube, 'second')).addresses ?? []).toEqual([]);
  });

  it('an address that another claims at the same moment leads to the next candidate', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addGateway(kube, 'front');
    nodes.connect('n1');
    // Whatever we try first, somebody else has just created.
    const create = kube.create.bind(kube);
    let stolen: string | undefined;
    kube.create = async (kind, wanted) => {
      if (kind.kind === 'IPAddress' && stolen === undefined) {
        stolen = wanted.metadata.name;
        await create(kind, { ...wanted, metadata: { name: stolen, labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' } }, spec: { parentRef: { group: '', resource: 'services', namespace: 'x', name: 'x' } } });
      }
      return create(kind, wanted);
    };
    start(parts);
    await until('an address', async () => ((await gatewayStatus(kube, 'front')).addresses ?? []).length === 1, clock);
    const [held] = (await gatewayStatus(kube, 'front')).addresses ?? [];
    expect(held?.value).not.toBe(stolen);
    expect(new Set(await ipAddresses(kube))).toEqual(new Set([stolen, held?.value]));
  });

  it('a pod that becomes ready or goes changes what is served', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', false);
    start(parts);
    await until('served', () => endpoints(nodes).length === 1, clock);
    expect(endpoints(nodes)[0]).toContain('not-ready');
    addPod(kube, 'p1', '10.1.0.1', true);
    await until('ready', () => endpoints(nodes)[0]?.includes(' ready'));
    await kube.remove(KUBE_KINDS.pod, { namespace: 'ai', name: 'p1' });
    await until('gone', () => endpoints(nodes).length === 0);
  });

  it('nothing is served, written or reported before every first list is complete', async () => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addGateway(kube, 'front');
    join(parts);
    const watch = kube.watch.bind(kube);
    let release: () => void = () => undefined;
    kube.watch = (kind, selection, handler) => (kind.kind === 'Pod' ? watch(kind, selection, { ...handler, synced: () => (release = () => handler.synced()) }) : watch(kind, selection, handler));
    const controller = start(parts);
    await clock.advance(60_000);
    expect(nodes.snapshot).toBeUndefined();
    expect(link.reports).toEqual([]);
    expect(await ipAddresses(kube)).toEqual([]);
    expect(controller.readiness['first lists']?.()).toBe('waiting for the first list of Pod');
    release();
    await until('served and reported', () => nodes.snapshot !== undefined && link.reports.length > 0, clock);
    expect(controller.readiness['first lists']?.()).toBeUndefined();
  });

  it('a cluster without the Gateway API reports and waits, and serves as soon as it is installed', async () => {
    const parts = cluster(true);
    const { kube, nodes, clock } = parts;
    const controller = start(parts);
    await until('an empty plan', () => nodes.snapshot !== undefined, clock);
    expect(controller.missingKinds()).toContain('Gateway');
    for (const kind of [KUBE_KINDS.gatewayClass, KUBE_KINDS.gateway, KUBE_KINDS.tcpRoute, KUBE_KINDS.referenceGrant, KUBE_KINDS.compositeBackend, KUBE_KINDS.endpointSelector]) {
      await kube.create(KUBE_KINDS.customResourceDefinition, object(KUBE_KINDS.customResourceDefinition, { name: `${kind.plural}.${kind.group}` }, { group: kind.group, scope: 'Namespaced', names: { plural: kind.plural, kind: kind.kind }, versions: [{ name: kind.version, served: true }] }));
    }
    addGateway(kube, 'front');
    await until('served', () => planOf(nodes)?.frontends[0]?.addresses.length === 1, clock, 1_000);
    expect(controller.missingKinds()).toEqual([]);
  });

  it('what the hub tells is served beside the local part, and the local part is reported', async () => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', true);
    join(parts);
    link.setImport(imported({ 'east-1': 4_000, 'west-1': 6_000 }));
    start(parts);
    await until('both', () => endpoints(nodes).length === 2, clock);
    expect(endpoints(nodes)).toEqual(['east-1@10.1.0.1:8080 ready 4000', 'west-1@10.2.0.1:8080 ready 6000']);
    await until('reported', () => link.reported.get(clusterId('east-1'))?.get(backendName('ai', 'model'))?.endpoints.length === 1, clock);
  });

  it('hub away: local changes are still served, remote endpoints stay', async () => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', true);
    join(parts);
    link.setImport(imported({ 'east-1': 4_000, 'west-1': 6_000 }));
    start(parts);
    await until('both', () => endpoints(nodes).length === 2, clock);
    link.goAway();
    await clock.advance(3_600_000);
    addPod(kube, 'p2', '10.1.0.2', true);
    await until('p2 is served', () => endpoints(nodes).some((one) => one.includes('10.1.0.2')));
    expect(endpoints(nodes).some((one) => one.startsWith('west-1@10.2.0.1'))).toBe(true);
  });

  it.each([
    { name: 'a new epoch that knows nothing', happen: (link: FakeHubLink) => (link.removeImport(backendName('ai', 'model')), link.newEpoch('epoch-2')) },
    { name: 'an empty hub', happen: (link: FakeHubLink) => link.startEmpty('epoch-2') },
    { name: 'an incomplete full state', happen: (link: FakeHubLink) => ((link.isComplete = false), link.removeImport(backendName('ai', 'model')), link.newEpoch('epoch-2')) },
  ])('$name does not empty the plan', async ({ happen }) => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    join(parts);
    link.setImport(imported({ 'west-1': 10_000 }));
    start(parts);
    await until('served', () => endpoints(nodes).length === 1, clock);
    link.goAway();
    await until('the link is lost', async () => (await settle(), true), clock);
    happen(link);
    link.comeBack();
    await clock.advance(120_000);
    expect(endpoints(nodes)).toEqual(['west-1@10.2.0.1:8080 ready 10000']);
  });

  it('a start without the hub serves the last good state', async () => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    join(parts);
    link.setImport(imported({ 'west-1': 10_000 }));
    const first = start(parts);
    await until('served', () => endpoints(nodes).length === 1, clock);
    await stop(first);
    link.goAway();
    const again = { ...parts, nodes: new SimulatedNodes(clock) };
    start(again);
    await until('served again', () => again.nodes.snapshot !== undefined, clock);
    expect(endpoints(again.nodes)).toEqual(['west-1@10.2.0.1:8080 ready 10000']);
    expect(again.nodes.snapshot).toEqual(nodes.snapshot);
  });

  it('a corrupt last good state is not used, not even in part', async () => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', true);
    join(parts);
    link.setImport(imported({ 'east-1': 4_000, 'west-1': 6_000 }));
    const first = start(parts);
    await until('served', () => endpoints(nodes).length === 2, clock);
    await stop(first);
    link.goAway();
    kube.seed(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: SYSTEM, name: 'spillway-last-good-1' }, binaryData: { 'state.gz': 'AAAA' } });
    const again = { ...parts, nodes: new SimulatedNodes(clock) };
    start(again);
    await until('served again', () => again.nodes.snapshot !== undefined, clock);
    expect(endpoints(again.nodes)).toEqual(['east-1@10.1.0.1:8080 ready 10000']);
  });

  it('a Gateway is Programmed only when every Ready node with an agent has acknowledged', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    addNode(kube, 'n2');
    addGateway(kube, 'front');
    nodes.connect('n1');
    nodes.connect('n2', 'hold');
    start(parts);
    await until('not programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'False', clock);
    await clock.advance(10_000);
    expect(await condition(kube, 'front', 'Programmed')).toBe('False');
    nodes.connect('n2', { refuse: 'ENOMEM from the kernel' });
    await until('the refusal is told', async () => (await gatewayStatus(kube, 'front')).conditions?.some((one) => one.message.includes('ENOMEM')), clock);
    nodes.connect('n2');
    await until('programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
    addNode(kube, 'n3');
    await clock.advance(2_000);
    expect(await condition(kube, 'front', 'Programmed')).toBe('True');
  });

  it('when every node falls silent, Programmed becomes False after a while', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    addGateway(kube, 'front');
    nodes.connect('n1');
    start(parts);
    await until('programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
    nodes.disconnect('n1');
    await clock.advance(20_000);
    expect(await condition(kube, 'front', 'Programmed')).toBe('True');
    await clock.advance(20_000);
    await until('not programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'False', clock);
    nodes.connect('n1');
    await until('programmed again', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
  });

  it('a deleted Gateway keeps its address until no node leads there any more', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    addGateway(kube, 'front');
    nodes.connect('n1');
    start(parts);
    await until('programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
    nodes.connect('n1', 'hold');
    await kube.remove(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' });
    await clock.advance(20_000);
    expect((await ipAddresses(kube)).length).toBe(1);
    nodes.connect('n1');
    await until('all gone', async () => (await ipAddresses(kube)).length === 0 && (await kube.list(KUBE_KINDS.gateway)).length === 0, clock);
  });

  it('of two replicas only the holder of the Lease writes and reports; both serve the same bytes', async () => {
    const parts = cluster();
    const { kube, link, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', true);
    join(parts);
    const first = start(parts, 'pod-a');
    await until('address', async () => (await ipAddresses(kube)).length === 1 && link.reports.length > 0, clock);
    const writes: string[] = [];
    const other = { ...parts, kube: withRecordedWrites(kube, writes), link: new FakeHubLink(clock), nodes: new SimulatedNodes(clock) };
    const second = start(other, 'pod-b');
    await until('second serves', () => planOf(other.nodes)?.frontends[0]?.addresses.length === 1, clock);
    await until('first serves', () => planOf(parts.nodes)?.frontends[0]?.addresses.length === 1, clock);
    expect(other.nodes.snapshot).toEqual(parts.nodes.snapshot);
    expect(second.readiness['lease']?.()).toContain('stands by');
    addGateway(kube, 'next');
    await until('the first serves the next', () => planOf(parts.nodes)?.frontends[1]?.addresses.length === 1, clock);
    await until('the second too', () => planOf(other.nodes)?.frontends[1]?.addresses.length === 1, clock);
    expect(other.link.reports).toEqual([]);
    expect(writes).toEqual([]);
    await stop(first);
    await until('second leads', () => second.readiness['lease']?.() === undefined, clock, 500);
  });

  it('leaving takes everything off and says so; nothing is written afterwards', async () => {
    const parts = cluster();
    const { kube, nodes, link, clock } = parts;
    addNode(kube, 'n1');
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    addPod(kube, 'p1', '10.1.0.1', true);
    join(parts);
    nodes.connect('n1');
    const controller = start(parts);
    await until('programmed and reported', async () => (await condition(kube, 'front', 'Programmed')) === 'True' && link.reported.get(clusterId('east-1'))?.size === 1, clock);
    nodes.connect('n1', 'hold');
    kube.seed(KUBE_KINDS.namespace, object(KUBE_KINDS.namespace, { name: SYSTEM, annotations: { [LEAVE_ANNOTATION]: 'request-1' } }, {}));
    await until('nodes are told', () => planOf(nodes)?.frontends.length === 0, clock);
    await clock.advance(5_000);
    const namespace = async (): Promise<KubeObject | undefined> => kube.find(KUBE_KINDS.namespace, { name: SYSTEM });
    expect((await namespace())?.metadata.annotations?.[LEFT_ANNOTATION]).toBeUndefined();
    nodes.connect('n1');
    await until('left', async () => (await namespace())?.metadata.annotations?.[LEFT_ANNOTATION] === 'request-1', clock);
    expect(await ipAddresses(kube)).toEqual([]);
    const gateway = await kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' });
    expect(gateway?.metadata.finalizers ?? []).toEqual([]);
    expect(link.reported.get(clusterId('east-1'))?.size).toBe(0);
    addGateway(kube, 'late');
    await clock.advance(30_000);
    expect(await ipAddresses(kube)).toEqual([]);
    expect((await gatewayStatus(kube, 'late')).conditions).toBeUndefined();
    await stop(controller);
  });
});
