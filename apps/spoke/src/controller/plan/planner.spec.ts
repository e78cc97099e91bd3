import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { backendName, clusterId, isSameData, type ClusterId, type ImportSet } from '#domain/fleet';
import { frontendKey } from '#domain/routing-plan';
import { renderXdsSnapshot, type RenderedPlan } from '#domain/xds-snapshot';
import type { KubeKind, KubeObject } from '#ports';
import { FakeClock, FakeKube, FakeRandom, readyEndpoints, settle, testSeed } from '#testing';

import { World } from '../observe/world.js';
import { Planner, type ControllerPlan } from './planner.js';

const HERE = clusterId('east-1');

/** One change of the world: an object as it is from now on (gone: without spec), or what the hub says. */
type Change = { readonly kind: KubeKind; readonly object: KubeObject; readonly isGone: boolean } | { readonly imports: ImportSet | undefined };

const worlds: World[] = [];
afterEach(() => {
  for (const world of worlds.splice(0)) world.stop();
});

async function aWorld(kube: FakeKube): Promise<World> {
  const world = new World({ kube, clock: new FakeClock(), random: new FakeRandom(1), onChange: () => undefined, onUnreadable: ({ message }) => { throw new Error(message); }, onWatchFailed: (_, error) => { throw error; } });
  worlds.push(world);
  kube.seed(KUBE_KINDS.serviceCidr, { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'kubernetes' }, spec: { cidrs: ['172.30.0.0/16'] }, status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' }] } });
  world.start();
  await settle();
  expect(world.complete).toBe(true);
  return world;
}

async function make(kube: FakeKube, change: Change): Promise<void> {
  if (!('kind' in change)) return;
  const { metadata } = change.object;
  if (!change.isGone) kube.seed(change.kind, change.object);
  else if ((await kube.find(change.kind, metadata)) !== undefined) await kube.remove(change.kind, metadata);
  await settle();
}

const namespace = fc.constantFrom('ai', 'web');
const name = fc.constantFrom('one', 'two');
const label = fc.constantFrom({ app: 'one' }, { app: 'two' }, { app: 'one', tier: 'gpu' });
const port = fc.constantFrom(80, 81);
const GROUPS: Readonly<Record<string, string>> = { Service: '', ServiceImport: 'multicluster.x-k8s.io', XEndpointSelector: 'gateway.networking.x-k8s.io' };
const groupOf = (kind: string): string => GROUPS[kind] ?? 'spillway.dev';
const protocol = fc.constantFrom('TCP', 'TCP', 'UDP');
const traits = fc.record({ sessionAffinity: fc.constantFrom(undefined, 'None', 'ClientIP'), trafficDistribution: fc.constantFrom(undefined, 'PreferSameZone') });

const ownOr = <T>(other: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(other, { nil: undefined, freq: 1 });
const backendRef = fc.record({ kind: fc.constantFrom('CompositeBackend', 'CompositeBackend', 'EndpointSelector', 'Service', 'ServiceImport', 'XEndpointSelector', 'Bucket'), namespace: ownOr(namespace), name, port, weight: fc.constantFrom(1, 1, 2, 0) }).map((ref) => ({ ...ref, group: groupOf(ref.kind) }));

const parentRef = fc.oneof(
  { weight: 3, arbitrary: fc.record({ namespace: ownOr(namespace), name, sectionName: ownOr(fc.constantFrom('a', 'b', 'c')) }) },
  fc.record({ namespace: ownOr(namespace), name, port: ownOr(port) }).map((ref) => ({ ...ref, group: '', kind: 'Service' })),
);
const routeSpec = fc.record({ parentRefs: fc.uniqueArray(parentRef, { minLength: 1, maxLength: 2, selector: (ref) => JSON.stringify(ref) }), rules: fc.array(backendRef, { maxLength: 3 }).map((backendRefs) => [{ backendRefs }]) }).map((spec) => ({ spec }));

const SPECS: readonly (readonly [KubeKind, fc.Arbitrary<Record<string, unknown>>])[] = [
  [KUBE_KINDS.gateway, fc.record({ gatewayClassName: fc.constantFrom('cluster-ip', 'cluster-ip', 'other'), listeners: fc.subarray([{ name: 'a', port: 80, protocol: 'TCP' }, { name: 'b', port: 81, protocol: 'TCP', allowedRoutes: { namespaces: { from: 'All' } } }, { name: 'c', port: 82, protocol: 'TCP', allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { team: 'a' } } } } }, { name: 'd', port: 80, protocol: 'UDP' }], { minLength: 1 }) }).map((spec) => ({ spec }))],
  [KUBE_KINDS.tcpRoute, routeSpec],
  [KUBE_KINDS.udpRoute, routeSpec],
  [KUBE_KINDS.referenceGrant, fc.record({ namespace, kind: fc.constantFrom('CompositeBackend', 'Service') }).map((one) => ({ spec: { from: [{ group: 'gateway.networking.k8s.io', kind: 'TCPRoute', namespace: one.namespace }], to: [{ group: groupOf(one.kind), kind: one.kind }] } }))],
  [KUBE_KINDS.compositeBackend, fc.record({ kind: fc.constantFrom('EndpointSelector', 'Service', 'XEndpointSelector'), name, hasPart: fc.boolean(), ports: fc.uniqueArray(port), protocol, traits, publishNotReadyAddresses: fc.boolean() }).map((one) => ({ spec: { ...(one.hasPart ? { backendRef: { group: groupOf(one.kind), kind: one.kind, name: one.name } } : {}), ports: one.ports.map((number) => ({ port: number, targetPort: number, protocol: one.protocol })), ...one.traits, publishNotReadyAddresses: one.publishNotReadyAddresses } }))],
  [KUBE_KINDS.endpointSelector, fc.record({ matchLabels: fc.oneof(label, fc.constant({})) }).map((selector) => ({ spec: { selector } }))],
  [KUBE_KINDS.xEndpointSelector, label.map((matchLabels) => ({ spec: { selector: { matchLabels } } }))],
  [KUBE_KINDS.serviceImport, fc.record({ type: fc.constantFrom('ClusterSetIP', 'Headless'), ports: fc.uniqueArray(port), traits }).map((one) => ({ spec: { type: one.type, ips: ['172.31.0.1'], ports: one.ports.map((number) => ({ name: `p${number}`, port: number })), ...one.traits } }))],
  [KUBE_KINDS.service, fc.record({ traits, type: fc.constantFrom('ClusterIP', 'ExternalName'), ports: fc.uniqueArray(port, { minLength: 1 }), clusterIP: fc.constantFrom('172.30.9.1', 'None') }).map(({ ports, traits: said, ...spec }) => ({ spec: { ...spec, ...said, ports: ports.map((number) => ({ name: `p${number}`, port: number, protocol: 'TCP' })) } }))],
  [KUBE_KINDS.endpointSlice, fc.record({ service: name, isImported: fc.boolean(), source: fc.constantFrom('east-1', 'west-1'), address: fc.constantFrom('10.1.0.1', '10.1.0.2'), ready: fc.boolean() }).map((one) => ({ labels: { [one.isImported ? 'multicluster.kubernetes.io/service-name' : 'kubernetes.io/service-name']: one.service, 'multicluster.kubernetes.io/source-cluster': one.source }, addressType: 'IPv4', ports: [{ name: 'p80', port: 8080, protocol: 'TCP' }], endpoints: [{ addresses: [one.address], hostname: one.source, conditions: { ready: one.ready } }] }))],
  [KUBE_KINDS.pod, fc.record({ hostNetwork: fc.boolean(), labels: label, node: fc.constantFrom('n1', 'n2'), address: fc.constantFrom('10.1.0.1', '10.1.0.2', '10.1.0.3', ''), ready: fc.boolean(), phase: fc.constantFrom('Running', 'Running', 'Failed') }).map((one) => ({ labels: one.labels, spec: { nodeName: one.node, hostNetwork: one.hostNetwork, containers: [] }, status: { phase: one.phase, podIP: one.address, conditions: [{ type: 'Ready', status: one.ready ? 'True' : 'False' }] } }))],
];

const CLUSTER_SPECS: readonly (readonly [KubeKind, readonly string[], fc.Arbitrary<Record<string, unknown>>])[] = [
  [KUBE_KINDS.gatewayClass, ['cluster-ip', 'other'], fc.constantFrom('spillway.dev/cluster-ip', 'example.com/other').map((controllerName) => ({ spec: { controllerName } }))],
  [KUBE_KINDS.namespace, ['ai', 'web'], fc.constantFrom({ team: 'a' }, { team: 'b' }).map((labels) => ({ labels }))],
  [KUBE_KINDS.node, ['n1', 'n2'], fc.record({ zone: fc.constantFrom('a', 'b'), ready: fc.boolean() }).map((one) => ({ labels: { 'topology.kubernetes.io/region': 'east', 'topology.kubernetes.io/zone': one.zone }, status: { conditions: [{ type: 'Ready', status: one.ready ? 'True' : 'False' }] } }))],
  [KUBE_KINDS.ipAddress, ['172.30.1.1', '172.30.1.2'], fc.record({ namespace, name }).map((parent) => ({ labels: { 'ipaddress.kubernetes.io/managed-by': 'spillway.dev' }, spec: { parentRef: { group: 'gateway.networking.k8s.io', resource: 'gateways', ...parent } } }))],
];

function anObject(kind: KubeKind, metadata: KubeObject['metadata'], { labels, ...rest }: Record<string, unknown>): KubeObject {
  return { apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`, kind: kind.kind, metadata: { ...metadata, ...(labels === undefined ? {} : { labels: labels as Record<string, string> }) }, ...rest };
}

const isGone = fc.nat(4).map((one) => one === 0);
const objectChange: fc.Arbitrary<Change> = fc.oneof(
  ...SPECS.map(([kind, spec]) => fc.record({ namespace, name, spec, isGone }).map((one): Change => ({ kind, object: anObject(kind, { namespace: one.namespace, name: one.name }, one.spec), isGone: one.isGone }))),
  ...CLUSTER_SPECS.map(([kind, names, spec]) => fc.record({ name: fc.constantFrom(...names), spec, isGone }).map((one): Change => ({ kind, object: anObject(kind, { name: one.name }, one.spec), isGone: one.isGone }))),
);

/** A world in which everything is there, so that changes meet something. */
const firstObjects: fc.Arbitrary<readonly Change[]> = fc.tuple(
  ...SPECS.flatMap(([kind, spec]) => ['ai', 'web'].flatMap((inside) => ['one', 'two'].map((called) => spec.map((rest): Change => ({ kind, object: anObject(kind, { namespace: inside, name: called }, rest), isGone: false }))))),
  ...CLUSTER_SPECS.flatMap(([kind, names, spec]) => names.map((called) => spec.map((rest): Change => ({ kind, object: anObject(kind, { name: called }, rest), isGone: false })))),
);
const THE_CLASS: Change = { kind: KUBE_KINDS.gatewayClass, object: anObject(KUBE_KINDS.gatewayClass, { name: 'cluster-ip' }, { spec: { controllerName: 'spillway.dev/cluster-ip' } }), isGone: false };

const imported = fc.record({ namespace, name, port, ready: fc.nat(2), shareBp: fc.constantFrom(0, 2_500, 10_000) }).map((one) => ({
  name: backendName(one.namespace, one.name),
  trafficClass: 'endpoints' as const,
  sessionAffinity: 'None' as const,
  providers: [
    { clusterId: HERE, locality: { region: 'east', zone: '' }, path: 'direct' as const, endpoints: [], ports: [{ port: one.port, protocol: 'TCP' as const }], readyAssumed: 1 },
    { clusterId: clusterId('west-1'), locality: { region: 'west', zone: '' }, path: 'direct' as const, endpoints: readyEndpoints(one.ready), ports: [{ port: one.port, protocol: 'TCP' as const }], readyAssumed: 2 },
  ],
  ports: [{ port: { port: one.port, protocol: 'TCP' as const }, shares: [{ clusterId: HERE, shareBp: 10_000 - one.shareBp }, { clusterId: clusterId('west-1'), shareBp: one.shareBp }] }],
  conflicts: [],
  refusals: [],
  memberCount: 2,
  servingCount: 2,
}));
const importChange: fc.Arbitrary<Change> = fc.option(fc.uniqueArray(imported, { maxLength: 3, selector: (one) => one.name }), { nil: undefined }).map((backends) => ({ imports: backends && { backends } }));
const change = fc.oneof({ weight: 12, arbitrary: objectChange }, { weight: 1, arbitrary: importChange });

const NONE: ReadonlySet<ClusterId> = new Set();

const planNow = (planner: Planner, world: World, imports: ImportSet | undefined): ControllerPlan => planner.plan({ world, clusterId: HERE, imports, intake: undefined, unreachable: NONE, ipAddresses: world.ipAddresses.values() });

/** What says the same as before but is another object. */
function needlesslyNew<T extends object>(before: readonly T[], after: readonly T[], keyOf: (value: T) => string): readonly string[] {
  const old = new Map(before.map((value) => [keyOf(value), value]));
  return after.filter((value) => old.get(keyOf(value)) !== value && isSameData(old.get(keyOf(value)), value)).map(keyOf);
}

const seed = testSeed();

describe(`plans from plans (seed ${seed})`, () => {
  it('after any changes the plan and its resources are those that are made from nothing, and what says the same is the same object', async () => {
    await fc.assert(
      fc.asyncProperty(firstObjects, fc.array(change, { minLength: 20, maxLength: 60 }), async (first, changes) => {
        const kube = new FakeKube();
        const [world, planner] = [await aWorld(kube), new Planner('cluster.local')];
        for (const one of [...first, THE_CLASS]) await make(kube, one);
        let imports: ImportSet | undefined;
        let served: RenderedPlan | undefined;
        for (const one of changes) {
          await make(kube, one);
          if ('imports' in one) imports = one.imports;
          const plan = planNow(planner, world, imports);
          const fresh = planNow(new Planner('cluster.local'), world, imports);
          expect(plan).toEqual(fresh);
          const snapshot = renderXdsSnapshot(plan.routing, served);
          expect(snapshot).toEqual(renderXdsSnapshot(fresh.routing));
          if (served !== undefined) {
            expect(needlesslyNew(served.plan.backends, plan.routing.backends, ({ id }) => id)).toEqual([]);
            expect(needlesslyNew(served.plan.frontends, plan.routing.frontends, frontendKey)).toEqual([]);
            expect(needlesslyNew(served.snapshot.clusters, snapshot.clusters, (cluster) => cluster.name)).toEqual([]);
            expect(needlesslyNew(served.snapshot.loadAssignments, snapshot.loadAssignments, (assignment) => assignment.name)).toEqual([]);
          }
          served = { plan: plan.routing, snapshot };
        }
        world.stop();
      }),
      { seed, numRuns: 40 },
    );
  }, 60_000);
});
