import { afterEach, describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { LEAVE_ANNOTATION, LEFT_ANNOTATION } from '#contracts/spoke-api';
import type { KubeObject } from '#ports';
import { until, type FakeKube } from '#testing';

import { SimulatedNodes } from '../simulated/simulated-nodes.js';
import { addGateway, addNode, addPod, addRoute, cluster, condition, endpoints, gatewayStatus, imported, ipAddresses, join, object, planOf, start, stop, stopAll, SYSTEM, type Parts } from './controller.fixture.js';
import { LastGoodStore } from './last-good/last-good-store.js';

const TWO_HOURS_MS = 2 * 60 * 60 * 1_000;

afterEach(stopAll);

/** A cluster that leads to itself and to west-1, as one controller has told its nodes and saved it. */
async function joined(): Promise<Parts> {
  const parts = cluster();
  const { kube, nodes, link, clock } = parts;
  addGateway(kube, 'front');
  addRoute(kube, 'front');
  addPod(kube, 'p1', '10.1.0.1', true);
  join(parts);
  link.setImport(imported({ 'east-1': 4_000, 'west-1': 6_000 }));
  const first = start(parts);
  await until('both', () => endpoints(nodes).length === 2, clock);
  await until('saved', async () => (await savedParts(kube)).length === 2, clock, 1_000);
  await stop(first);
  return parts;
}

const savedParts = async (kube: FakeKube): Promise<readonly KubeObject[]> => (await kube.list(KUBE_KINDS.configMap)).filter(({ metadata }) => metadata.name.startsWith('spillway-last-good-'));

const DAMAGES: readonly { readonly name: string; readonly damage: (kube: FakeKube) => Promise<unknown> }[] = [
  { name: 'deleted', damage: async (kube) => Promise.all((await savedParts(kube)).map(({ metadata }) => kube.remove(KUBE_KINDS.configMap, metadata))) },
  { name: 'left without its index', damage: (kube) => kube.remove(KUBE_KINDS.configMap, { namespace: SYSTEM, name: 'spillway-last-good-0' }) },
  { name: 'left with the index alone', damage: (kube) => kube.remove(KUBE_KINDS.configMap, { namespace: SYSTEM, name: 'spillway-last-good-1' }) },
  { name: 'overwritten', damage: async (kube) => kube.seed(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: SYSTEM, name: 'spillway-last-good-1' }, binaryData: { 'state.gz': 'AAAA' } }) },
];

describe('a saved last good state that somebody spoils', () => {
  it.each(DAMAGES)('$name while no controller runs: nodes never hear of a plan without the other clusters', async ({ damage }) => {
    const parts = await joined();
    const nodes = new SimulatedNodes(parts.clock);
    const told: number[] = [];
    const set = nodes.setSnapshot.bind(nodes);
    nodes.setSnapshot = (snapshot) => {
      set(snapshot);
      told.push(endpoints(nodes).length);
    };
    await damage(parts.kube);
    parts.link.goAway();
    const controller = start({ ...parts, nodes });
    await parts.clock.advance(20_000);
    expect(told).toEqual([]);
    expect(controller.readiness['first word']?.()).toContain('waiting for the hub');
    parts.link.comeBack();
    await until('served', () => told.length > 0, parts.clock, 1_000);
    expect(told[0]).toBe(2);
    expect(controller.readiness['first word']?.()).toBeUndefined();
  });

  it('with the hub away for longer than a minute as well, this cluster serves itself', async () => {
    const parts = await joined();
    const nodes = new SimulatedNodes(parts.clock);
    await DAMAGES[0]?.damage(parts.kube);
    parts.link.goAway();
    start({ ...parts, nodes });
    await parts.clock.advance(61_000);
    await until('served', () => nodes.snapshot !== undefined, parts.clock);
    expect(endpoints(nodes)).toEqual(['east-1@10.1.0.1:8080 ready 10000']);
  });

  it.each(DAMAGES)('$name under a running controller is saved again within about a minute', async ({ damage }) => {
    const parts = await joined();
    start(parts);
    await until('served', () => endpoints(parts.nodes).length === 2, parts.clock);
    await parts.clock.advance(10_000);
    await damage(parts.kube);
    const store = new LastGoodStore(parts.kube, SYSTEM);
    expect(await store.isWhole()).toBe(false);
    const damagedAtMs = parts.clock.nowMs();
    await until('saved again', () => store.isWhole(), parts.clock, 1_000);
    expect(parts.clock.nowMs() - damagedAtMs).toBeLessThan(120_000);
    expect((await store.load())?.told.size).toBe(1);
  });
});

describe('addresses', () => {
  const smallRange = (kube: FakeKube): void => {
    const range = object(KUBE_KINDS.serviceCidr, { name: 'kubernetes' }, { cidrs: ['10.96.0.0/30'] });
    kube.seed(KUBE_KINDS.serviceCidr, { ...range, status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' }] } });
  };
  const ofService = (name: string): KubeObject => object(KUBE_KINDS.ipAddress, { name, labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' } }, { parentRef: { group: '', resource: 'services', namespace: 'shop', name: 'web' } });

  it('a full range is said in the status, costs nothing, and the next address that comes free is taken', async () => {
    const parts = cluster();
    const { kube, clock } = parts;
    smallRange(kube);
    kube.seed(KUBE_KINDS.ipAddress, ofService('10.96.0.1'));
    kube.seed(KUBE_KINDS.ipAddress, ofService('10.96.0.2'));
    addGateway(kube, 'front');
    let tries = 0;
    const create = kube.create.bind(kube);
    kube.create = (kind, wanted) => {
      if (kind.kind === 'IPAddress') tries += 1;
      return create(kind, wanted);
    };
    start(parts);
    await until('said', async () => (await gatewayStatus(kube, 'front')).conditions?.some(({ message }) => message.includes('add a ServiceCIDR')), clock);
    await clock.advance(3_600_000);
    expect(tries).toBe(0);
    await kube.remove(KUBE_KINDS.ipAddress, { name: '10.96.0.2' });
    await until('taken', async () => (await gatewayStatus(kube, 'front')).addresses?.[0]?.value === '10.96.0.2', clock);
    expect(tries).toBe(1);
  });

  it('the last address, lost in a race and given back a moment later, is taken all the same', async () => {
    const parts = cluster();
    const { kube, clock } = parts;
    smallRange(kube);
    kube.seed(KUBE_KINDS.ipAddress, ofService('10.96.0.1'));
    addGateway(kube, 'front');
    const create = kube.create.bind(kube);
    let hasRaced = false;
    kube.create = async (kind, wanted) => {
      if (kind.kind === 'IPAddress' && !hasRaced) {
        hasRaced = true;
        await create(kind, ofService(wanted.metadata.name));
      }
      return create(kind, wanted);
    };
    start(parts);
    await until('lost', () => hasRaced, clock);
    await clock.advance(1_000);
    await kube.remove(KUBE_KINDS.ipAddress, { name: '10.96.0.2' });
    await clock.advance(40_000);
    expect((await gatewayStatus(kube, 'front')).addresses).toEqual([{ type: 'IPAddress', value: '10.96.0.2' }]);
  });

  it('an IPAddress of ours that somebody deletes is made again, with the same address', async () => {
    const parts = cluster();
    const { kube, clock } = parts;
    addGateway(kube, 'front');
    start(parts);
    await until('an address', async () => (await gatewayStatus(kube, 'front')).addresses?.length === 1, clock);
    const before = await ipAddresses(kube);
    await kube.remove(KUBE_KINDS.ipAddress, { name: before[0] ?? '' });
    await until('made again', async () => (await ipAddresses(kube)).length === 1, clock);
    expect(await ipAddresses(kube)).toEqual(before);
  });

  it('a Gateway of 64 listeners is served on all of them', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addGateway(kube, 'front');
    addRoute(kube, 'front');
    const gateway = await kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' });
    const listeners = Array.from({ length: 64 }, (_, at) => ({ name: `tcp-${at}`, port: 1_000 + at, protocol: 'TCP' }));
    if (gateway !== undefined) kube.seed(KUBE_KINDS.gateway, { ...gateway, spec: { ...(gateway['spec'] as object), listeners } });
    addPod(kube, 'p1', '10.1.0.1', true);
    start(parts);
    await until('64 listeners', () => planOf(nodes)?.frontends[0]?.listeners.length === 64, clock);
  });
});

describe('a time of day that is set by two hours', () => {
  it.each([
    { name: 'ahead', stepMs: TWO_HOURS_MS },
    { name: 'back', stepMs: -TWO_HOURS_MS },
  ])('$name makes no node silent and holds no address back', async ({ stepMs }) => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    addNode(kube, 'n1');
    addGateway(kube, 'front');
    nodes.connect('n1');
    start(parts);
    await until('programmed', async () => (await condition(kube, 'front', 'Programmed')) === 'True', clock);
    nodes.disconnect('n1');
    clock.stepTimeOfDay(stepMs);
    await clock.advance(20_000);
    expect(await condition(kube, 'front', 'Programmed')).toBe('True');
    await clock.advance(20_000);
    expect(await condition(kube, 'front', 'Programmed')).toBe('False');
    await kube.remove(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' });
    await clock.advance(70_000);
    expect(await ipAddresses(kube)).toEqual([]);
  });
});

describe('a request to leave that names an installation', () => {
  const asked = (kube: FakeKube, installation: string): void => void kube.seed(KUBE_KINDS.namespace, object(KUBE_KINDS.namespace, { name: SYSTEM, annotations: { [LEAVE_ANNOTATION]: `installation/${installation}`, [LEFT_ANNOTATION]: 'installation/u-0' } }, {}));

  it('means nothing to the next one, which starts in the same namespace', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    kube.self = { username: 'controller', uid: 'u-1' };
    asked(kube, 'u-0');
    addGateway(kube, 'front');
    start(parts);
    await until('served', () => planOf(nodes)?.frontends[0]?.addresses.length === 1, clock);
  });

  it('is followed by that one', async () => {
    const parts = cluster();
    const { kube, nodes, clock } = parts;
    kube.self = { username: 'controller', uid: 'u-1' };
    addGateway(kube, 'front');
    start(parts);
    await until('served', () => planOf(nodes)?.frontends[0]?.addresses.length === 1, clock);
    asked(kube, 'u-1');
    await until('left', async () => (await kube.find(KUBE_KINDS.namespace, { name: SYSTEM }))?.metadata.annotations?.[LEFT_ANNOTATION] === 'installation/u-1', clock, 1_000);
    expect(planOf(nodes)?.frontends).toEqual([]);
    expect(await ipAddresses(kube)).toEqual([]);
  });
});
