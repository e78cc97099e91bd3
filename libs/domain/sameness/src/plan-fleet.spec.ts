import { describe, expect, it } from '@jest/globals';

import { backendName, clusterId, type FleetView } from '#domain/fleet';
import { aFleetView, aMember, aPart, aPolicy, aReach, clustersNamed, HTTP_PORT, MODEL_BACKEND, readyEndpoints, terminatingEndpoint } from '#testing';

import { planBackend, planFleet } from './plan-fleet.js';
import { readyCapacities } from './ready-capacities.js';

const members = [aMember('a'), aMember('b'), aMember('c')];
const ab = [aMember('a'), aMember('b')];
const external = { trafficClass: 'external' as const };

/** Shares on port 80 as `a=2500 b=7500`. */
function sharesSeenBy(consumer: string, view: FleetView): string | undefined {
  const backend = planBackend(view, clusterId(consumer), MODEL_BACKEND);
  return backend?.ports.find(({ port }) => port.port === 80)?.shares.map(({ clusterId: id, shareBp }) => `${id}=${shareBp}`).join(' ');
}

const frozen = (view: FleetView, capacities: Record<string, number>): FleetView => ({
  ...view,
  freeze: { reason: 'test', sinceMs: 0, capacities: new Map([[MODEL_BACKEND, new Map(Object.entries(capacities).map(([id, value]) => [clusterId(id), value]))]]) },
});

describe('planBackend: shares', () => {
  it.each<{ readonly says: string; readonly view: FleetView; readonly consumer?: string; readonly want: string | undefined }>([
    { says: 'shares follow ready endpoints', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 3)]), want: 'a=2500 b=7500' },
    { says: 'shares follow capacity per endpoint', view: aFleetView(ab, [aPart('a', 1, 1, { capacity: { unit: 'Tokens', perEndpoint: 900 } }), aPart('b', 2, 1, { capacity: { unit: 'Tokens', perEndpoint: 2_100 } })]), want: 'a=3000 b=7000' },
    { says: 'an endpoint that is not ready counts for nothing', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 0, { endpoints: [terminatingEndpoint()] })]), want: 'a=10000' },
    { says: 'nobody ready leaves the port without shares', view: aFleetView(ab, [aPart('a', 1, 0), aPart('b', 2, 0)]), want: '' },
    { says: 'a part whose endpoints lack the port takes nothing on it', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1, { endpoints: readyEndpoints(1, { targetPorts: [0] }) })]), want: 'a=10000' },
    { says: "a stale member's endpoints are out", view: aFleetView([aMember('a'), aMember('b', { freshness: 'stale' })], [aPart('a', 1, 1), aPart('b', 2, 3)]), want: 'a=10000' },
    { says: 'a cluster is never stale to itself', view: aFleetView([aMember('a', { freshness: 'stale' }), aMember('b')], [aPart('a', 1, 1), aPart('b', 2, 1)]), want: 'a=5000 b=5000' },
    { says: 'a member that has not finished its first list gives what it has', view: aFleetView([aMember('a'), aMember('b', { freshness: 'joining', firstListComplete: false })], [aPart('a', 1, 1), aPart('b', 2, 1)]), want: 'a=5000 b=5000' },
    { says: 'a part left by a member that is gone counts for nothing', view: aFleetView([aMember('a')], [aPart('a', 1, 1), aPart('b', 2, 3)]), want: 'a=10000' },
    { says: 'a losing traffic class gets no share', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1, external)]), want: 'a=10000' },
    { says: 'the consumer itself may be the loser', view: aFleetView(ab, [aPart('a', 2, 1), aPart('b', 1, 1, external)]), want: 'b=10000' },
    { says: 'a consumer without a part of its own draws on the others', view: aFleetView(members, [aPart('a', 1, 1), aPart('b', 2, 1)]), consumer: 'c', want: 'a=5000 b=5000' },
    { says: 'without any policy a cluster serves itself', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1)], { policies: [] }), want: 'a=10000' },
    { says: 'without any policy a cluster without a part sees nothing', view: aFleetView(members, [aPart('a', 1, 1)], { policies: [] }), consumer: 'c', want: undefined },
    { says: 'a provider that may not export gives nothing', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1)], { policies: [aPolicy({ mayExport: clustersNamed('a') })] }), want: 'a=10000' },
    { says: 'a consumer that may not import gets nothing', view: aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1)], { policies: [aPolicy({ mayImport: clustersNamed('b') })] }), want: 'a=10000' },
    { says: 'a provider on another network is left out', view: aFleetView([aMember('a'), aMember('b', { network: 'far' })], [aPart('a', 1, 1), aPart('b', 2, 1)]), want: 'a=10000' },
    { says: 'a freeze holds shares by the stored capacities', view: frozen(aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 9)]), { a: 3, b: 1 }), want: 'a=7500 b=2500' },
    { says: 'a freeze still drops a provider without a ready endpoint', view: frozen(aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 0)]), { a: 3, b: 1 }), want: 'a=10000' },
    { says: 'a provider that came during a freeze gets nothing', view: frozen(aFleetView(members, [aPart('a', 1, 1), aPart('b', 2, 1), aPart('c', 3, 5)]), { a: 1, b: 1 }), want: 'a=5000 b=5000' },
    { says: 'a freeze turns nobody away while a newcomer is ready', view: frozen(aFleetView(ab, [aPart('a', 1, 0), aPart('b', 2, 2)]), { a: 1 }), want: 'b=10000' },
    { says: 'a backend that came during a freeze is split as ever', view: { ...aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1)]), freeze: { reason: 'test', sinceMs: 0, capacities: new Map() } }, want: 'a=5000 b=5000' },
    { says: 'a cluster that is no member sees nothing', view: aFleetView(ab, [aPart('a', 1, 1)]), consumer: 'nobody', want: undefined },
  ])('$says', ({ view, consumer = 'a', want }) => {
    expect(sharesSeenBy(consumer, view)).toBe(want);
  });
});

describe('planBackend: what a consumer is told', () => {
  it('gives no endpoints of its own back to a cluster, but counts them', () => {
    const backend = planBackend(aFleetView(ab, [aPart('a', 1, 2), aPart('b', 2, 3)]), clusterId('a'), MODEL_BACKEND);
    expect(backend?.providers.map(({ clusterId: id, endpoints, readyAssumed }) => [id, endpoints.length, readyAssumed])).toEqual([['a', 0, 2], ['b', 3, 3]]);
  });

  it('passes endpoints on with every condition', () => {
    const kept = [...readyEndpoints(1), terminatingEndpoint()];
    const backend = planBackend(aFleetView(ab, [aPart('b', 1, 0, { endpoints: kept })]), clusterId('a'), MODEL_BACKEND);
    expect(backend?.providers[0]?.endpoints).toEqual(kept);
  });

  it('tells a cluster that it may neither export nor import', () => {
    const view = aFleetView(ab, [aPart('a', 1, 1), aPart('b', 2, 1)], { policies: [aPolicy({ mayExport: clustersNamed('b'), mayImport: clustersNamed('b') })] });
    const seen = planBackend(view, clusterId('a'), MODEL_BACKEND);
    expect(seen?.refusals).toEqual([
      'Sameness policy "shared-ai" covers namespace "ai" but does not let cluster "a" export it; add the cluster to its mayExport to allow it.',
      'Sameness policy "shared-ai" covers namespace "ai" but does not let cluster "a" import it; add the cluster to its mayImport to allow it.',
    ]);
    expect(seen?.memberCount).toBe(1);
  });

  it('tells a consumer which provider no path leads to', () => {
    const view = aFleetView([aMember('a'), aMember('b', { network: 'far' })], [aPart('a', 1, 1), aPart('b', 2, 1)]);
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)?.refusals).toEqual([
      'Cluster "b" is on network "far" and cluster "a" on "flat", and "b" has no gateway; its endpoints are left out. Label nodes of "b" with spillway.dev/gateway=true, or give both clusters the same network if their pods reach each other.',
    ]);
  });

  it('tells a consumer that the gateway cannot let it in, as long as nobody knows from where it calls', () => {
    const view = aFleetView([aMember('a'), aMember('b', { network: 'far', reach: aReach() })], [aPart('b', 1, 1, { gatewayPort: 20_000 })]);
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)).toMatchObject({ providers: [], refusals: [expect.stringContaining('upgrade the spoke of "a"')] });
  });

  it('tells a consumer that no gateway port was left', () => {
    const view = aFleetView([aMember('a', { reach: aReach() }), aMember('b', { network: 'far', reach: aReach() })], [aPart('b', 1, 1)]);
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)).toMatchObject({ providers: [], refusals: [expect.stringContaining('SPILLWAY_GATEWAY_PORT_RANGE')] });
  });

  it('leads a consumer of another network to the gateways, with the ready count of the pods behind them', () => {
    const far = aMember('b', { network: 'far', reach: aReach({ gateways: ['198.51.100.1', '198.51.100.2'] }) });
    const view = aFleetView([aMember('a', { reach: aReach() }), aMember('c', { network: 'far' }), far], [aPart('a', 1, 1), aPart('b', 2, 3, { gatewayPort: 20_007 })]);
    const gateway = { targetPorts: [20_007], ready: true, serving: true, terminating: false, zone: '', node: '' };
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)).toMatchObject({
      providers: [{ clusterId: 'a' }, { clusterId: 'b', path: 'gateway', readyAssumed: 3, endpoints: [{ ...gateway, address: '198.51.100.1' }, { ...gateway, address: '198.51.100.2' }] }],
      ports: [{ shares: [{ clusterId: 'a', shareBp: 2_500 }, { clusterId: 'b', shareBp: 7_500 }] }],
      refusals: [],
    });
    // The path is chosen for each pair: a neighbour on the provider's network calls its pods.
    expect(planBackend(view, clusterId('c'), MODEL_BACKEND)?.providers).toMatchObject([{ clusterId: 'b', path: 'direct', endpoints: readyEndpoints(3) }]);
  });

  it.each([
    { name: 'ready', endpoints: [...readyEndpoints(1), terminatingEndpoint()], want: { ready: true, serving: true, terminating: false } },
    { name: 'ending', endpoints: [terminatingEndpoint()], want: { ready: false, serving: true, terminating: true } },
    { name: 'not ready', endpoints: readyEndpoints(1, { ready: false, serving: false }), want: { ready: false, serving: false, terminating: false } },
  ])('a gateway is $name as the best pod behind it is', ({ endpoints, want }) => {
    const view = aFleetView([aMember('a', { reach: aReach() }), aMember('b', { network: 'far', reach: aReach() })], [aPart('b', 2, 0, { endpoints, gatewayPort: 20_000 })]);
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)?.providers[0]?.endpoints).toMatchObject([want]);
  });

  it('gives no share of a port to which no gateway port leads', () => {
    const ports = [HTTP_PORT, { port: 81, protocol: 'TCP' as const }];
    const view = aFleetView([aMember('a', { reach: aReach() }), aMember('b', { network: 'far', reach: aReach() })], [aPart('b', 2, 0, { ports, endpoints: readyEndpoints(1, { targetPorts: [8080, 8081] }), gatewayPort: 20_000 })]);
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)?.ports.map(({ shares }) => shares.length)).toEqual([1, 0]);
  });

  it('tells every party of a conflict the same', () => {
    const view = aFleetView(members, [aPart('a', 1, 1), aPart('b', 2, 1, external), aPart('c', 3, 1)]);
    const told = ['a', 'b', 'c'].map((id) => planBackend(view, clusterId(id), MODEL_BACKEND)?.conflicts);
    expect(told[0]).toHaveLength(1);
    expect(told[1]).toEqual(told[0]);
    expect(told[2]).toEqual(told[0]);
  });

  it('lets a cluster that may not export disturb nobody else', () => {
    const view = aFleetView(members, [aPart('c', 1, 1, external), aPart('a', 2, 1), aPart('b', 3, 1)], { policies: [aPolicy({ mayExport: clustersNamed('a', 'b') })] });
    expect(planBackend(view, clusterId('a'), MODEL_BACKEND)).toMatchObject({ trafficClass: 'endpoints', conflicts: [], memberCount: 2 });
    expect(planBackend(view, clusterId('c'), MODEL_BACKEND)).toMatchObject({ trafficClass: 'external', memberCount: 3, conflicts: [{ winner: 'c', losers: ['a', 'b'] }] });
  });

  it('counts members that define the backend and those with a ready endpoint', () => {
    const view = aFleetView([...members, aMember('d', { freshness: 'stale' })], [aPart('a', 1, 1), aPart('b', 2, 0), aPart('d', 3, 4)]);
    expect(planBackend(view, clusterId('c'), MODEL_BACKEND)).toMatchObject({ memberCount: 3, servingCount: 1 });
  });
});

describe('planFleet', () => {
  it('lists what a cluster defines or may import, sorted by name, and nothing else', () => {
    const named = (namespace: string, name: string) => ({ name: backendName(namespace, name) });
    const view = aFleetView(ab, [aPart('b', 1, 1, named('ai', 'z')), aPart('b', 2, 1, named('ai', 'a')), aPart('b', 3, 1, named('secret', 'x')), aPart('a', 4, 1, named('own', 'x'))]);
    expect(planFleet(view, clusterId('a')).backends.map(({ name }) => name)).toEqual(['ai/a', 'ai/z', 'own/x']);
  });
});

describe('readyCapacities', () => {
  it('stores what each member that is not stale could take', () => {
    const view = aFleetView([aMember('a'), aMember('b', { freshness: 'stale' }), aMember('c')], [aPart('a', 1, 2, { capacity: { unit: 'Tokens', perEndpoint: 900 } }), aPart('b', 2, 9), aPart('c', 3, 0)]);
    expect([...(readyCapacities(view).get(MODEL_BACKEND) ?? [])]).toEqual([['a', 1_800]]);
  });
});
