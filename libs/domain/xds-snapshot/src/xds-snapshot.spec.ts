import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { clusterId } from '#domain/fleet';
import type { PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { routingPlanArbitrary, testSeed } from '#testing';

import { parseFrontends, parseXdsSnapshot } from './parse-xds-snapshot.js';
import { renderXdsSnapshot } from './render-xds-snapshot.js';
import { snapshotProblems } from './snapshot-problems.js';
import type { XdsSnapshot } from './xds-resources.js';

const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
const BATCH = 'composite:ai/batch/80/TCP' as PlannedBackendId;

const model: PlannedBackend = {
  id: MODEL,
  protocol: 'TCP',
  affinity: undefined,
  trafficDistribution: 'None',
  providers: [
    { clusterId: clusterId('east-1'), locality: { region: 'east', zone: 'a' }, path: 'direct', shareBp: 7_000, endpoints: [{ address: '10.1.0.5', port: 8080, state: 'ready', zone: '', node: '', hostname: '' }, { address: '10.1.0.6', port: 8080, state: 'not-ready', zone: '', node: '', hostname: '' }] },
    { clusterId: clusterId('north-1'), locality: { region: 'north', zone: '' }, path: 'direct', shareBp: 0, endpoints: [{ address: '10.3.0.5', port: 8080, state: 'serving-terminating', zone: '', node: '', hostname: '' }] },
    { clusterId: clusterId('west-1'), locality: { region: 'west', zone: 'b' }, path: 'gateway', shareBp: 3_000, endpoints: [{ address: '10.2.0.7', port: 31_000, state: 'ready', zone: '', node: '', hostname: '' }] },
  ],
};

const plan: RoutingPlan = {
  frontends: [
    {
      kind: 'gateway',
      callers: undefined,
      isHeadless: false,
      namespace: 'ai',
      name: 'model',
      addresses: ['172.30.0.41'],
      dnsNames: ['model.ai.gw.cluster.local'],
      listeners: [
        { name: 'admin', port: 9000, protocol: 'TCP', uses: [], rejectWeight: 0 },
        { name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: BATCH, weight: 1 }, { backend: MODEL, weight: 8 }], rejectWeight: 1 },
      ],
    },
  ],
  backends: [{ id: BATCH, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [] }, model],
  gatewayPorts: [],
};

const withModel = (change: Partial<PlannedBackend>): RoutingPlan => ({ ...plan, backends: plan.backends.map((backend) => (backend.id === MODEL ? { ...backend, ...change } : backend)) });

const names = (resources: readonly { readonly name: string }[]): string[] => resources.map((resource) => resource.name);

/** Names of resources whose version differs between two snapshots, or that are in one only. */
function changedNames(before: XdsSnapshot, after: XdsSnapshot): string[] {
  const versions = (snapshot: XdsSnapshot) => new Map([...snapshot.clusters.map((one) => [`CDS ${one.name}`, one.version] as const), ...snapshot.loadAssignments.map((one) => [`EDS ${one.name}`, one.version] as const)]);
  const [old, fresh] = [versions(before), versions(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])].filter((name) => old.get(name) !== fresh.get(name)).sort();
}

describe('renderXdsSnapshot', () => {
  const snapshot = renderXdsSnapshot(plan);

  it('names one cluster and one load assignment per backend, and one cluster for what leads nowhere', () => {
    expect(names(snapshot.clusters)).toEqual([BATCH, MODEL, 'reject/ai/model']);
    expect(names(snapshot.loadAssignments)).toEqual([BATCH, MODEL]);
  });

  it('carries each frontend in the metadata of every cluster that it leads to', () => {
    const common = { kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: ['172.30.0.41'], dnsNames: ['model.ai.gw.cluster.local'] };
    expect(snapshot.clusters[1]?.metadata).toEqual({ protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', gatewayPorts: [], frontends: [{ ...common, listeners: [{ name: 'http', port: 80, protocol: 'TCP', weight: 8 }] }] });
    expect(snapshot.clusters[2]?.metadata).toEqual({
      protocol: undefined,
      affinity: undefined,
      trafficDistribution: 'None',
      gatewayPorts: [],
      frontends: [{ ...common, listeners: [{ name: 'admin', port: 9000, protocol: 'TCP', weight: 0 }, { name: 'http', port: 80, protocol: 'TCP', weight: 1 }] }],
    });
  });

  it('makes each provider a locality whose weight is its share, and leaves the weight out where the share is 0', () => {
    expect(snapshot.loadAssignments[1]?.localities.map(({ region, subZone, weight, path }) => ({ region, subZone, weight, path }))).toEqual([
      { region: 'east', subZone: 'east-1', weight: 7_000, path: 'direct' },
      { region: 'north', subZone: 'north-1', weight: undefined, path: 'direct' },
      { region: 'west', subZone: 'west-1', weight: 3_000, path: 'gateway' },
    ]);
    expect(snapshot.loadAssignments[1]?.localities.flatMap((locality) => locality.endpoints.map((endpoint) => endpoint.health))).toEqual(['HEALTHY', 'UNHEALTHY', 'DRAINING', 'HEALTHY']);
  });

  it('a frontend that leads somewhere with all its weight has no reject cluster', () => {
    const leading = { ...plan, frontends: plan.frontends.map((frontend) => ({ ...frontend, listeners: frontend.listeners.filter((one) => one.uses.length > 0).map((one) => ({ ...one, rejectWeight: 0 })) })) };
    expect(names(renderXdsSnapshot(leading).clusters)).toEqual([BATCH, MODEL]);
  });

  it('a share change changes exactly one EDS resource', () => {
    const moved = withModel({ providers: model.providers.map((provider) => ({ ...provider, shareBp: provider.clusterId === 'east-1' ? 6_000 : provider.clusterId === 'west-1' ? 4_000 : 0 })) });
    expect(changedNames(snapshot, renderXdsSnapshot(moved))).toEqual([`EDS ${MODEL}`]);
  });

  it('an endpoint change changes exactly one EDS resource, and everything else keeps its object', () => {
    const less = withModel({ providers: model.providers.map((provider) => ({ ...provider, endpoints: provider.endpoints.slice(1) })) });
    const after = renderXdsSnapshot(less, { plan, snapshot });
    expect(changedNames(snapshot, after)).toEqual([`EDS ${MODEL}`]);
    expect(after.clusters).toBe(snapshot.clusters);
    expect(after.loadAssignments[0]).toBe(snapshot.loadAssignments[0]);
  });

  it('a new address changes the clusters of that frontend and no EDS resource', () => {
    const readdressed = { ...plan, frontends: plan.frontends.map((frontend) => ({ ...frontend, addresses: ['172.30.0.42'] })) };
    expect(changedNames(snapshot, renderXdsSnapshot(readdressed, { plan, snapshot }))).toEqual([`CDS ${BATCH}`, `CDS ${MODEL}`, 'CDS reject/ai/model']);
  });
});

describe('parseXdsSnapshot', () => {
  it('keeps the objects of what did not change', () => {
    const snapshot = renderXdsSnapshot(plan);
    const parsed = parseXdsSnapshot(snapshot);
    const less = renderXdsSnapshot(withModel({ providers: [] }), { plan, snapshot });
    const again = parseXdsSnapshot(less, { plan: parsed, snapshot });
    expect(again.frontends).toBe(parsed.frontends);
    expect(again.backends[0]).toBe(parsed.backends[0]);
    expect(again.backends[1]).toEqual({ id: MODEL, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [] });
  });

  it('reads the frontends from clusters alone', () => {
    expect(parseFrontends(renderXdsSnapshot(plan).clusters)).toEqual(plan.frontends);
  });
});

const seed = testSeed();

describe(`round trip (seed ${seed})`, () => {
  it('parse(render(plan)) equals every valid plan, whose snapshot has no problem', () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (random) => {
        const snapshot = renderXdsSnapshot(random);
        const problems = snapshotProblems(snapshot).filter((one) => one.code !== 'XDS_ENDPOINT_DUPLICATE');
        expect({ plan: parseXdsSnapshot(snapshot), problems }).toEqual({ plan: random, problems: [] });
      }),
      { seed, numRuns: 300 },
    );
  });

  it('what was rendered or parsed before never changes a result', () => {
    fc.assert(
      fc.property(routingPlanArbitrary, routingPlanArbitrary, (before, after) => {
        const old = { plan: before, snapshot: renderXdsSnapshot(before) };
        const mixed = { frontends: after.frontends, backends: after.backends.map((backend) => before.backends.find((one) => one.id === backend.id) ?? backend), gatewayPorts: after.gatewayPorts };
        const snapshot = renderXdsSnapshot(mixed, old);
        expect(snapshot).toEqual(renderXdsSnapshot(mixed));
        expect(parseXdsSnapshot(snapshot, old)).toEqual(mixed);
      }),
      { seed, numRuns: 150 },
    );
  });

  it('the order of frontends, backends, providers and listeners never changes a version', () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (random) => {
        const reversed: RoutingPlan = {
          frontends: random.frontends.map((frontend) => ({ ...frontend, listeners: [...frontend.listeners].reverse() })).reverse(),
          backends: random.backends.map((backend) => ({ ...backend, providers: [...backend.providers].reverse() })).reverse(),
          gatewayPorts: random.gatewayPorts,
        };
        expect(renderXdsSnapshot(reversed)).toEqual(renderXdsSnapshot(random));
      }),
      { seed, numRuns: 150 },
    );
  });
});

describe('snapshotProblems', () => {
  const good = renderXdsSnapshot(plan);
  const [batchCluster, modelCluster] = [good.clusters[0]!, good.clusters[1]!];
  const modelAssignment = good.loadAssignments[1]!;
  const [east] = [modelAssignment.localities[0]!];
  const withLocalities = (localities: typeof modelAssignment.localities): XdsSnapshot => ({ ...good, loadAssignments: [good.loadAssignments[0]!, { ...modelAssignment, localities }] });
  const modelFrontend = modelCluster.metadata.frontends[0]!;

  it.each([
    { name: 'a cluster that names an absent load assignment', snapshot: { ...good, loadAssignments: [modelAssignment] }, want: ['XDS_LOAD_ASSIGNMENT_MISSING'] },
    { name: 'a load assignment that no cluster names', snapshot: { ...good, clusters: [modelCluster] }, want: ['XDS_LOAD_ASSIGNMENT_UNREFERENCED'] },
    { name: 'two clusters of one name', snapshot: { ...good, clusters: [batchCluster, ...good.clusters] }, want: ['XDS_CLUSTER_DUPLICATE'] },
    { name: 'a locality twice in a priority', snapshot: withLocalities([east, { ...east, endpoints: [] }]), want: ['XDS_LOCALITY_DUPLICATE'] },
    { name: 'a weight of 0', snapshot: withLocalities([{ ...east, weight: 0 }]), want: ['XDS_WEIGHT_INVALID'] },
    { name: 'a priority without the one before', snapshot: withLocalities([east, { ...east, subZone: 'x', priority: 2, endpoints: [] }]), want: ['XDS_PRIORITY_GAP'] },
    { name: 'a priority above 128', snapshot: withLocalities([{ ...east, priority: 129 }]), want: ['XDS_PRIORITY_INVALID'] },
    { name: 'weights that sum above 2^32-1', snapshot: withLocalities([{ ...east, weight: 4_294_967_295 }, { ...east, subZone: 'x', weight: 1, endpoints: [] }]), want: ['XDS_WEIGHT_SUM'] },
    { name: 'an endpoint twice', snapshot: withLocalities([east, { ...east, subZone: 'x' }]), want: ['XDS_ENDPOINT_DUPLICATE', 'XDS_ENDPOINT_DUPLICATE'] },
    {
      name: 'a frontend with two sets of addresses',
      snapshot: { ...good, clusters: [batchCluster, { ...modelCluster, metadata: { ...modelCluster.metadata, frontends: [{ ...modelFrontend, addresses: [] }] } }, good.clusters[2]!] },
      want: ['XDS_FRONTEND_DISAGREES'],
    },
    {
      name: 'a listener with two ports',
      snapshot: { ...good, clusters: [batchCluster, { ...modelCluster, metadata: { ...modelCluster.metadata, frontends: [{ ...modelFrontend, listeners: [{ ...modelFrontend.listeners[0]!, port: 81 }] }] } }] },
      want: ['XDS_LISTENER_DISAGREES'],
    },
    {
      name: 'a use without weight',
      snapshot: { ...good, clusters: [batchCluster, { ...modelCluster, metadata: { ...modelCluster.metadata, frontends: [{ ...modelFrontend, listeners: [{ ...modelFrontend.listeners[0]!, weight: 0 }] }] } }] },
      want: ['XDS_WEIGHT_INVALID'],
    },
  ])('$name is a problem', ({ snapshot, want }) => {
    expect(snapshotProblems(snapshot).map((one) => one.code)).toEqual(want);
  });

  it('a rendered plan has none', () => {
    expect(snapshotProblems(good)).toEqual([]);
  });
});
