import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { backendName, clusterId, type Endpoint, type GatewayOpening, type ImportedBackend, type ImportedProvider, type ImportSet } from '#domain/fleet';
import { acceptedFrontends, decideGateways, fleetPorts } from '#domain/gateway-api';
import { readyEndpoints, sortObjects, terminatingEndpoint, testSeed } from '#testing';

import { buildRoutingPlan, frontendVersion, memberBackends, memberBackendsDigest, planProblems, type PlannedBackend, type RoutingPlan, type RoutingPlanInput } from './index.js';

type Json = Record<string, unknown>;

const LOCAL = clusterId('east-1');
const CLASS: Json = { kind: 'GatewayClass', metadata: { name: 'cluster-ip' }, spec: { controllerName: 'spillway.dev/cluster-ip' } };
const metadata = { namespace: 'ai', name: 'model' };
const GATEWAY: Json = { kind: 'Gateway', metadata, spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'http', port: 80, protocol: 'TCP' }] } };
const toComposite = (port = 80): Json => ({ group: 'spillway.dev', kind: 'CompositeBackend', name: 'model', port });
const toSelector = (port = 8080): Json => ({ group: 'spillway.dev', kind: 'EndpointSelector', name: 'model', port });
const route = (...backendRefs: readonly Json[]): Json => ({ kind: 'TCPRoute', metadata, spec: { parentRefs: [{ name: 'model' }], rules: [{ backendRefs }] } });
const SELECTOR: Json = { kind: 'EndpointSelector', metadata, spec: { selector: { matchLabels: { app: 'model' } }, ports: [{ name: 'http', targetPort: 8080 }] } };
const composite = (spec: Json = { backendRef: { group: 'spillway.dev', kind: 'EndpointSelector', name: 'model' }, ports: [{ port: 80, targetPort: 'http' }] }): Json => ({ kind: 'CompositeBackend', metadata, spec });
const pod = (at: number, over: { readonly ready?: boolean; readonly ending?: boolean } = {}): Json => ({
  kind: 'Pod',
  metadata: { namespace: 'ai', name: `m-${at}`, labels: { app: 'model' }, ...(over.ending === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
  spec: { nodeName: 'n1', containers: [{ ports: [{ name: 'http', containerPort: 8080 }] }] },
  status: { phase: 'Running', podIP: `10.1.0.${at}`, conditions: [{ type: 'Ready', status: over.ready === false ? 'False' : 'True' }] },
});

const provider = (id: string, ready: number, over: Partial<ImportedProvider> = {}): ImportedProvider => ({
  clusterId: clusterId(id),
  locality: { region: id, zone: '' },
  path: 'direct',
  endpoints: clusterId(id) === LOCAL ? [] : readyEndpoints(ready).map((endpoint) => ({ ...endpoint, address: endpoint.address.replace('10.1.', '10.2.') })),
  ports: [{ port: 80, protocol: 'TCP' }],
  readyAssumed: ready,
  ...over,
});
const imports = (shares: Readonly<Record<string, number>>, providers: readonly ImportedProvider[], over: Partial<ImportedBackend> = {}): ImportSet => ({
  backends: [
    {
      name: backendName('ai', 'model'),
      trafficClass: 'endpoints',
      sessionAffinity: 'None',
      providers,
      ports: [{ port: { port: 80, protocol: 'TCP' }, shares: Object.entries(shares).map(([id, shareBp]) => ({ clusterId: clusterId(id), shareBp })) }],
      conflicts: [],
      refusals: [],
      memberCount: providers.length,
      servingCount: providers.length,
      ...over,
    },
  ],
});

function plan(objects: readonly Json[], importSet?: ImportSet, over: Partial<RoutingPlanInput> = {}): RoutingPlan {
  const cluster = sortObjects([CLASS, GATEWAY, ...objects]);
  const frontends = acceptedFrontends(decideGateways(cluster.gateway, fleetPorts(importSet)), new Map([['ai/model', { held: ['172.30.1.1'] }]]), 'cluster.local');
  const built = buildRoutingPlan({ clusterId: LOCAL, locality: { region: 'east', zone: '' }, frontends, local: cluster.local, imports: importSet, intake: undefined, unreachable: new Set(), ...over });
  expect(planProblems(built)).toEqual([]);
  return built;
}
const shares = ({ backends }: RoutingPlan): string => (backends[0]?.providers ?? []).map(({ clusterId: id, shareBp }) => `${id} ${shareBp}`).join(', ');
const whatAnswers = (backend: PlannedBackend | undefined): unknown => backend?.providers;

describe('stickiness and preference', () => {
  const service = (spec: Json): Json => ({ kind: 'Service', metadata, spec: { clusterIP: '172.30.9.9', ports: [{ name: 'http', port: 80 }], ...spec } });
  const byService = (spec: Json): Json => composite({ backendRef: { group: '', kind: 'Service', name: 'model' }, ...spec });
  const STICKY = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } }, trafficDistribution: 'PreferSameNode' };
  const elsewhere = (sessionAffinity: ImportedBackend['sessionAffinity'], providers = [provider('west-1', 1)]): ImportSet => imports({ 'west-1': 10_000 }, providers, { sessionAffinity });

  it.each([
    { name: 'without a word there is none', objects: [route(toComposite()), SELECTOR, composite()], imported: undefined, want: 'none None' },
    { name: 'a CompositeBackend says its own', objects: [route(toComposite()), SELECTOR, composite({ ports: [{ port: 80 }], sessionAffinity: 'Cluster', sessionAffinityTimeoutSeconds: 5, trafficDistribution: 'PreferSameZone' })], imported: undefined, want: 'cluster 5 PreferSameZone' },
    { name: 'a Service as local part supplies its own', objects: [route(toComposite()), service(STICKY), byService({})], imported: undefined, want: 'endpoint 60 PreferSameNode' },
    { name: 'what a CompositeBackend says outweighs its Service, None too', objects: [route(toComposite()), service(STICKY), byService({ sessionAffinity: 'None', trafficDistribution: 'None' })], imported: undefined, want: 'none None' },
    { name: 'a Service named directly says its own, as it does behind a CompositeBackend (R34)', objects: [route({ name: 'model', port: 80 }), service(STICKY)], imported: undefined, want: 'endpoint 60 PreferSameNode' },
    { name: 'the first definition in the fleet holds for all (R40), with this cluster\'s timeout', objects: [route(toComposite()), service(STICKY), byService({})], imported: elsewhere('Cluster'), want: 'cluster 60 PreferSameNode' },
    { name: 'None is such a definition, too', objects: [route(toComposite()), service(STICKY), byService({})], imported: elsewhere('None'), want: 'none PreferSameNode' },
    { name: 'where nobody answers, nobody has defined it', objects: [route(toComposite()), service(STICKY), byService({})], imported: elsewhere('None', []), want: 'endpoint 60 PreferSameNode' },
  ])('$name', ({ objects, imported, want }) => {
    const [backend] = plan(objects, imported).backends;
    expect(`${backend?.affinity === undefined ? 'none' : `${backend.affinity.scope} ${backend.affinity.timeoutSeconds}`} ${backend?.trafficDistribution}`).toBe(want);
  });

  it('the fleet hears of the affinity, so that parts that disagree are found', () => {
    expect(memberBackends(sortObjects([service(STICKY), byService({})]).local).map(({ sessionAffinity }) => sessionAffinity)).toEqual(['ClientIP']);
  });
});

describe('with one member, a CompositeBackend is exactly a direct reference (R34)', () => {
  const pods = [pod(1), pod(2), pod(3, { ready: false }), pod(4, { ending: true })];
  const direct = plan([route(toSelector()), SELECTOR, ...pods]);

  it('before the hub has said anything', () => {
    expect(whatAnswers(plan([route(toComposite()), SELECTOR, composite(), ...pods]).backends[0])).toEqual(whatAnswers(direct.backends[0]));
  });

  it('after the hub has given it all of the traffic', () => {
    const alone = imports({ 'east-1': 10_000 }, [provider('east-1', 2)]);
    expect(whatAnswers(plan([route(toComposite()), SELECTOR, composite(), ...pods], alone).backends[0])).toEqual(whatAnswers(direct.backends[0]));
  });

  it('with a Service as its local part', () => {
    const service = [
      { kind: 'Service', metadata: { namespace: 'ai', name: 'svc' }, spec: { ports: [{ name: 'web', port: 80 }] } },
      { kind: 'EndpointSlice', metadata: { namespace: 'ai', name: 'svc-1', labels: { 'kubernetes.io/service-name': 'svc' } }, addressType: 'IPv4', ports: [{ name: 'web', port: 8080 }], endpoints: [{ addresses: ['10.1.0.5'] }] },
    ];
    const viaComposite = plan([route(toComposite()), composite({ backendRef: { group: '', kind: 'Service', name: 'svc' } }), ...service]);
    const viaService = plan([route({ name: 'svc', port: 80 }), ...service]);
    expect(whatAnswers(viaComposite.backends[0])).toEqual(whatAnswers(viaService.backends[0]));
    expect(whatAnswers(viaService.backends[0])).toMatchObject([{ shareBp: 10_000, endpoints: [{ address: '10.1.0.5', port: 8080, state: 'ready', zone: '', node: '', hostname: '' }] }]);
  });
});

describe('shares between two words of the hub', () => {
  const objects = (pods: readonly Json[]): readonly Json[] => [route(toComposite()), SELECTOR, composite(), ...pods];
  const half = { 'east-1': 5_000, 'west-1': 5_000 };

  it.each([
    { name: 'as the hub said while nothing changed', pods: [pod(1), pod(2)], importSet: imports(half, [provider('east-1', 2), provider('west-1', 2)]), want: 'east-1 5000, west-1 5000' },
    { name: 'scaled down where ready endpoints are gone', pods: [pod(1)], importSet: imports(half, [provider('east-1', 2), provider('west-1', 2)]), want: 'east-1 3333, west-1 6667' },
    { name: 'never scaled up where more are ready', pods: [pod(1), pod(2), pod(3), pod(4)], importSet: imports(half, [provider('east-1', 2), provider('west-1', 2)]), want: 'east-1 5000, west-1 5000' },
    { name: 'nothing to a provider without a ready endpoint', pods: [], importSet: imports(half, [provider('east-1', 2), provider('west-1', 2)]), want: 'west-1 10000' },
    { name: 'everything local when the other provider has none left', pods: [pod(1), pod(2)], importSet: imports(half, [provider('east-1', 2), provider('west-1', 2, { endpoints: [] })]), want: 'east-1 10000, west-1 0' },
    { name: 'nothing that the hub did not give, however many are ready here', pods: [pod(1)], importSet: imports({ 'west-1': 10_000 }, [provider('west-1', 2)]), want: 'east-1 0, west-1 10000' },
    { name: 'but local pods of which the hub knew none rather than nobody', pods: [pod(1)], importSet: imports({ 'west-1': 10_000 }, [provider('west-1', 2, { endpoints: [] })]), want: 'east-1 10000, west-1 0' },
    { name: 'not to local pods that the hub knew and gave nothing', pods: [pod(1)], importSet: imports({ 'west-1': 10_000 }, [provider('east-1', 1), provider('west-1', 2, { endpoints: [] })]), want: 'east-1 0, west-1 0' },
    { name: 'to ready ones before any that are terminating', pods: [pod(1, { ending: true })], importSet: imports(half, [provider('east-1', 1), provider('west-1', 1)]), want: 'east-1 0, west-1 10000' },
    { name: 'to terminating ones where nobody is ready (R20)', pods: [pod(1, { ending: true })], importSet: imports({ 'east-1': 2_500, 'west-1': 7_500 }, [provider('east-1', 1), provider('west-1', 1, { endpoints: [terminatingEndpoint()] })]), want: 'east-1 2500, west-1 7500' },
    { name: 'nobody where nobody answers', pods: [], importSet: imports(half, [provider('west-1', 1, { endpoints: [] })]), want: 'west-1 0' },
    { name: 'local alone where a policy lets nobody else in', pods: [pod(1)], importSet: imports({}, [], { ports: [], refusals: ['No policy.'] }), want: 'east-1 10000' },
    { name: 'of seven thousand to three thousand when both halve', pods: [pod(1)], importSet: imports({ 'east-1': 7_000, 'west-1': 3_000 }, [provider('east-1', 2), provider('west-1', 2, { endpoints: readyEndpoints(1, { address: '10.2.0.1' }) })]), want: 'east-1 7000, west-1 3000' },
  ])('$name', ({ pods, importSet, want }) => {
    expect(shares(plan(objects(pods), importSet))).toBe(want);
  });

  it('a port that only another member exposes draws on that member alone', () => {
    const two = imports({}, [provider('east-1', 1), provider('west-1', 1, { ports: [{ port: 80, protocol: 'TCP' }, { port: 90, protocol: 'TCP' }], endpoints: readyEndpoints(1, { targetPorts: [8080, 9090] }) })], {
      ports: [{ port: { port: 90, protocol: 'TCP' }, shares: [{ clusterId: clusterId('west-1'), shareBp: 10_000 }] }],
    });
    const built = plan([route(toComposite(90)), SELECTOR, composite(), pod(1)], two);
    expect([shares(built), built.backends[0]?.providers[0]?.endpoints]).toEqual(['west-1 10000', [{ address: '10.1.0.1', port: 9090, state: 'ready', zone: 'a', node: 'n1', hostname: '' }]]);
  });

  it('local endpoints come from local pods, never from the hub', () => {
    const lying = imports(half, [provider('east-1', 1, { endpoints: readyEndpoints(1, { address: '10.9.9.9' }) }), provider('west-1', 1)]);
    const local = plan(objects([pod(1)]), lying).backends[0]?.providers.find(({ clusterId: id }) => id === LOCAL);
    expect(local?.endpoints.map(({ address }) => address)).toEqual(['10.1.0.1']);
  });
});

describe('paths between members', () => {
  const objects = [route(toComposite()), SELECTOR, composite(), pod(1), pod(2)];
  const gateway = (address: string, over: Partial<Endpoint> = {}): Endpoint => ({ address, targetPorts: [20_007], ready: true, serving: true, terminating: false, zone: '', node: '', ...over });
  const far = (over: Partial<ImportedProvider> = {}): ImportedProvider => provider('far-1', 6, { path: 'gateway', endpoints: [gateway('198.51.100.1'), gateway('198.51.100.2')], ...over });
  const down = (...ids: string[]): Partial<RoutingPlanInput> => ({ unreachable: new Set(ids.map(clusterId)) });
  const thirds = { 'east-1': 2_000, 'far-1': 5_000, 'west-1': 3_000 };

  it('a provider behind a gateway keeps its share, however few gateways it has', () => {
    const built = plan(objects, imports({ 'east-1': 2_500, 'far-1': 7_500 }, [provider('east-1', 2), far()]));
    expect(shares(built)).toBe('east-1 2500, far-1 7500');
    expect(built.backends[0]?.providers[1]).toMatchObject({ path: 'gateway', endpoints: [{ address: '198.51.100.1', port: 20_007, state: 'ready' }, { address: '198.51.100.2', port: 20_007, state: 'ready' }] });
  });

  it('a local scale-down counts against it as against any other', () => {
    expect(shares(plan([route(toComposite()), SELECTOR, composite(), pod(1)], imports({ 'east-1': 5_000, 'far-1': 5_000 }, [provider('east-1', 2), far()])))).toBe('east-1 3333, far-1 6667');
  });

  it('pods of another network never stand beside equal addresses of this one', () => {
    const everyone = plan(objects, imports(thirds, [provider('east-1', 2), far(), provider('west-1', 2)]));
    const addresses = everyone.backends[0]?.providers.flatMap(({ endpoints }) => endpoints.map(({ address, port }) => `${address}:${port}`)) ?? [];
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  it.each([
    { name: 'a member whose path is down gets nothing, and the others share what is left', over: down('far-1'), want: 'east-1 4000, far-1 0, west-1 6000' },
    { name: 'whom the hub gave nothing gets nothing through that', over: down('west-1'), split: { 'far-1': 4_000, 'west-1': 6_000 }, want: 'east-1 0, far-1 10000, west-1 0' },
    { name: 'this cluster is always reached from itself', over: down('east-1'), want: 'east-1 2000, far-1 5000, west-1 3000' },
    { name: 'with every other path down this cluster answers alone', over: down('far-1', 'west-1'), want: 'east-1 10000, far-1 0, west-1 0' },
    { name: 'rather than turn everybody away, calls are sent as if all paths were up', over: down('far-1', 'west-1'), split: { 'far-1': 4_000, 'west-1': 6_000 }, want: 'east-1 0, far-1 4000, west-1 6000' },
    { name: 'a path that is down to nobody who provides changes nothing', over: down('north-1'), want: 'east-1 2000, far-1 5000, west-1 3000' },
  ])('$name', ({ over, split = thirds, want }) => {
    expect(shares(plan(objects, imports(split, [provider('east-1', 2), far(), provider('west-1', 2)]), over))).toBe(want);
  });

  it('an address that two clusters of one network name stays with the first, this cluster before all others', () => {
    const overlapping = imports(thirds, [provider('east-1', 2), provider('north-1', 3, { endpoints: readyEndpoints(3) }), provider('west-1', 3, { endpoints: readyEndpoints(4) })]);
    const providers = plan(objects, overlapping).backends[0]?.providers ?? [];
    expect(providers.map(({ clusterId: id, endpoints }) => `${id} ${endpoints.map(({ address }) => address).join(' ')}`)).toEqual(['east-1 10.1.0.1 10.1.0.2', 'north-1 10.1.0.3', 'west-1 10.1.0.4']);
  });
});

describe('what gateway nodes take in', () => {
  const node = (name: string, labels: Json): Json => ({ kind: 'Node', metadata: { name, labels } });
  const opening = (gatewayPort: number, over: Partial<GatewayOpening> = {}): GatewayOpening => ({ gatewayPort, backend: backendName('ai', 'model'), port: { port: 80, protocol: 'TCP' }, callers: [clusterId('far-1'), clusterId('far-2')], ...over });
  const callers = [{ clusterId: clusterId('far-1'), addresses: ['192.0.2.2', '192.0.2.1'] }, { clusterId: clusterId('far-2'), addresses: ['192.0.2.1'] }];
  const objects = [SELECTOR, composite(), pod(1), pod(2), node('n2', { 'spillway.dev/gateway': '' }), node('n1', { 'spillway.dev/gateway': 'true' }), node('n3', { 'spillway.dev/gateway': 'false' }), node('n4', {})];
  const intake = (...openings: GatewayOpening[]): Partial<RoutingPlanInput> => ({ intake: { openings, callers } });

  it('leads each port to this cluster\'s own endpoints alone, from the addresses of those who may call', () => {
    const built = plan(objects, imports({ 'east-1': 4_000, 'west-1': 6_000 }, [provider('east-1', 2), provider('west-1', 2)]), intake(opening(20_001)));
    expect(built.gatewayPorts).toEqual([{ port: 20_001, protocol: 'TCP', backend: 'local:ai/model/80/TCP', nodes: ['n1', 'n2'], sources: ['192.0.2.1', '192.0.2.2'] }]);
    expect(built.backends).toMatchObject([{ id: 'local:ai/model/80/TCP', providers: [{ clusterId: LOCAL, path: 'direct', shareBp: 10_000, endpoints: [{ address: '10.1.0.1', port: 8080 }, { address: '10.1.0.2', port: 8080 }] }] }]);
  });

  it('stands beside what routes lead to', () => {
    const built = plan([route(toComposite()), ...objects], undefined, intake(opening(20_001)));
    expect(built.backends.map(({ id }) => id)).toEqual(['composite:ai/model/80/TCP', 'local:ai/model/80/TCP']);
  });

  it('refuses calls for a backend that is gone, or a port that it lost', () => {
    const built = plan(objects, undefined, intake(opening(20_001, { backend: backendName('ai', 'gone') }), opening(20_002, { port: { port: 81, protocol: 'TCP' } })));
    expect(built.backends.map(({ id, providers }) => `${id} ${providers.map(({ shareBp }) => shareBp).join(' ')}`)).toEqual(['local:ai/gone/80/TCP 0', 'local:ai/model/81/TCP 0']);
  });

  it('opens a number once', () => {
    expect(plan(objects, undefined, intake(opening(20_001), opening(20_001, { backend: backendName('ai', 'other') }))).gatewayPorts).toMatchObject([{ port: 20_001, backend: 'local:ai/model/80/TCP' }]);
  });

  it('opens nothing without a gateway node', () => {
    expect(plan([SELECTOR, composite(), pod(1)], undefined, intake(opening(20_001))).gatewayPorts).toEqual([]);
  });
});

describe('either side may be missing in a cluster (R38)', () => {
  it('a front end without a local part is served by others', () => {
    expect(shares(plan([route(toComposite()), composite({})], imports({ 'west-1': 10_000 }, [provider('west-1', 2)])))).toBe('west-1 10000');
  });

  it('a local part that no route leads to is offered and not planned', () => {
    const objects = [SELECTOR, composite(), pod(1)];
    expect(plan(objects).backends).toEqual([]);
    expect(memberBackends(sortObjects(objects).local).map(({ name, endpoints }) => [name, endpoints.length])).toEqual([['ai/model', 1]]);
  });

  it('a CompositeBackend without a local part, or on its way out, offers nothing', () => {
    const going = { ...composite(), metadata: { ...metadata, name: 'going', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(memberBackends(sortObjects([composite({}), going, SELECTOR]).local)).toEqual([]);
  });
});

describe('weights', () => {
  it('a route that names one backend twice leads there with the sum', () => {
    const built = plan([route({ ...toSelector(), weight: 2 }, { ...toSelector(), weight: 3 }), SELECTOR, pod(1)]);
    expect(built.frontends[0]?.listeners[0]?.uses).toEqual([{ backend: 'selector:ai/model/8080/TCP', weight: 5 }]);
  });
});

describe('versions', () => {
  const versionOf = (built: RoutingPlan): string[] => built.frontends.map(frontendVersion);

  it('a pod that comes or goes is no new version of a frontend, another route is', () => {
    const one = plan([route(toSelector()), SELECTOR, pod(1)]);
    expect(versionOf(plan([route(toSelector()), SELECTOR, pod(1), pod(2)]))).toEqual(versionOf(one));
    expect(versionOf(plan([route({ ...toSelector(), weight: 2 }), SELECTOR, pod(1)]))).not.toEqual(versionOf(one));
  });

  it('the digest of an offer changes with a pod\'s readiness', () => {
    const digestOf = (pods: readonly Json[]): string => memberBackendsDigest(memberBackends(sortObjects([SELECTOR, composite(), ...pods]).local));
    expect(digestOf([pod(1), pod(2)])).toBe(digestOf([pod(2), pod(1)]));
    expect(digestOf([pod(1, { ready: false }), pod(2)])).not.toBe(digestOf([pod(1), pod(2)]));
  });
});

describe('for any pods, shares and order', () => {
  const seed = testSeed();
  const anyPod = fc.tuple(fc.boolean(), fc.boolean());
  const anyCase = fc.record({
    pods: fc.array(anyPod, { maxLength: 5 }),
    eastShare: fc.integer({ min: 0, max: 10_000 }),
    assumed: fc.tuple(fc.nat(6), fc.nat(6)),
    remoteReady: fc.nat(6),
  });
  const objectsOf = ({ pods }: { readonly pods: readonly (readonly [boolean, boolean])[] }): Json[] => [route(toComposite()), SELECTOR, composite(), ...pods.map(([ready, ending], at) => pod(at + 1, { ready, ending }))];

  it(`shares sum to 10,000 exactly where somebody can answer whom the hub allows (seed ${seed})`, () => {
    fc.assert(
      fc.property(anyCase, (one) => {
        const [assumedEast, assumedWest] = one.assumed;
        const importSet = imports({ 'east-1': one.eastShare, 'west-1': 10_000 - one.eastShare }, [provider('east-1', assumedEast), provider('west-1', one.remoteReady, { readyAssumed: assumedWest })]);
        const providers = plan(objectsOf(one), importSet).backends[0]?.providers ?? [];
        const sum = providers.reduce((total, { shareBp }) => total + shareBp, 0);
        const localServes = one.pods.some(([ready]) => ready) && (one.eastShare > 0 || assumedEast === 0);
        const remoteServes = one.remoteReady > 0 && one.eastShare < 10_000;
        expect(sum).toBe(localServes || remoteServes ? 10_000 : 0);
        expect(providers.every(({ shareBp, endpoints }) => shareBp === 0 || endpoints.some(({ state }) => state !== 'not-ready'))).toBe(true);
      }),
      { seed },
    );
  });

  it(`the order of objects and providers changes nothing (seed ${seed})`, () => {
    fc.assert(
      fc.property(anyCase, fc.boolean(), (one, flip) => {
        const providers = [provider('east-1', 2), provider('west-1', one.remoteReady)];
        const shared = { 'east-1': one.eastShare, 'west-1': 10_000 - one.eastShare };
        const objects = objectsOf(one);
        expect(plan(flip ? [...objects].reverse() : objects, imports(shared, [...providers].reverse()))).toEqual(plan(objects, imports(shared, providers)));
      }),
      { seed },
    );
  });
});
