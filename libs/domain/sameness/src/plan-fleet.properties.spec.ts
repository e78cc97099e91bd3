import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { backendName, clusterId, SHARE_TOTAL_BP, type ClusterSelector, type FleetView, type MemberBackend, type MemberPart, type MemberState, type SamenessPolicy } from '#domain/fleet';
import { aFleetView, aMember, aPolicy, aReach } from '#testing';

import { judgeSameness } from './judge-sameness.js';
import { planBackend, planFleet } from './plan-fleet.js';
import { planPaths } from './plan-paths.js';
import { readyCapacities } from './ready-capacities.js';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const NAMES = [backendName('ai', 'model'), backendName('ai-x', 'chat'), backendName('web', 'shop')];

const selector: fc.Arbitrary<ClusterSelector> = fc.oneof(
  fc.constant({ all: true, names: [], matchLabels: {} }),
  fc.subarray(IDS).map((names) => ({ all: false, names, matchLabels: {} })),
  fc.constantFrom('gold', 'iron').map((tier) => ({ all: false, names: [], matchLabels: { tier } })),
);
const policies: fc.Arbitrary<SamenessPolicy[]> = fc
  .array(fc.record({ namespaces: fc.subarray(['ai', 'ai*', 'web'], { minLength: 1 }), mayExport: selector, mayImport: selector }), { maxLength: 3 })
  .map((list) => list.map((over, index) => aPolicy({ name: `p${index}`, ...over })));

const member = (id: string): fc.Arbitrary<MemberState> =>
  fc
    .record({ freshness: fc.constantFrom('joining', 'fresh', 'stale'), firstListComplete: fc.boolean(), network: fc.constantFrom('flat', 'flat', 'far'), labels: fc.constantFrom({ tier: 'gold' }, { tier: 'iron' }), hasReach: fc.boolean() })
    .map(({ hasReach, ...over }) => aMember(id, { ...over, reach: hasReach ? aReach({ gateways: [`192.0.2.${id.charCodeAt(0)}`] }) : undefined }));

const endpoint = fc.record({ ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean(), targetPorts: fc.tuple(fc.constantFrom(0, 8080), fc.constantFrom(0, 9090)) });
const backend = (name: MemberBackend['name'], id: string): fc.Arbitrary<MemberBackend> =>
  fc.record({
    name: fc.constant(name),
    trafficClass: fc.constantFrom('endpoints', 'endpoints', 'external'),
    sessionAffinity: fc.constantFrom('None', 'ClientIP'),
    ports: fc.shuffledSubarray([{ port: 80, protocol: 'TCP' as const }, { port: 53, protocol: 'UDP' as const }, { port: 53, protocol: 'TCP' as const }], { maxLength: 2 }),
    endpoints: fc.array(endpoint, { maxLength: 4 }).map((list) => list.map((one, index) => ({ address: `10.0.${id.charCodeAt(0)}.${index}`, zone: 'a', node: 'n', ...one }))),
    capacity: fc.record({ unit: fc.constantFrom('Requests', 'Requests', 'Tokens'), perEndpoint: fc.constantFrom(1, 7, 900.5) }),
  });
const part = (name: MemberBackend['name'], id: string): fc.Arbitrary<MemberPart | undefined> =>
  fc.option(fc.record({ clusterId: fc.constant(clusterId(id)), firstSeenSequence: fc.bigInt({ min: 0n, max: 3n }), backend: backend(name, id), hasPorts: fc.boolean() }).map(({ hasPorts, ...rest }) => ({ ...rest, gatewayPorts: hasPorts ? rest.backend.ports.map((port, index) => ({ port, gatewayPort: 20_000 + index })) : [] })), { nil: undefined });

const view: fc.Arbitrary<FleetView> = fc
  .record({
    members: fc.tuple(...IDS.map(member)),
    parts: fc.tuple(...NAMES.flatMap((name) => IDS.map((id) => part(name, id)))),
    policies,
  })
  .map(({ members, parts, policies: list }) => aFleetView(members, parts.filter((one) => one !== undefined), { policies: list }));

const plansOf = (fleet: FleetView) => IDS.map((id) => planFleet(fleet, clusterId(id)));

describe('planFleet, whatever the fleet', () => {
  it('does not depend on the order of members, parts or policies', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        const turned: FleetView = {
          ...fleet,
          members: new Map([...fleet.members].reverse()),
          parts: new Map([...fleet.parts].reverse().map(([name, parts]) => [name, [...parts].reverse()])),
          policies: [...fleet.policies].reverse(),
        };
        expect(plansOf(turned)).toEqual(plansOf(fleet));
      }),
    );
  });

  it('splits every port into exactly the total or not at all, over providers that have a ready endpoint and are listed', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        for (const imported of plansOf(fleet).flatMap(({ backends }) => backends)) {
          const ready = new Set((fleet.parts.get(imported.name) ?? []).filter((one) => one.backend.endpoints.some((end) => end.ready)).map((one) => one.clusterId));
          const listed = new Set(imported.providers.map((provider) => provider.clusterId));
          for (const { shares } of imported.ports) {
            const sum = shares.reduce((total, { shareBp }) => total + shareBp, 0);
            expect(sum).toBe(shares.length === 0 ? 0 : SHARE_TOTAL_BP);
            expect(shares.filter((share) => !ready.has(share.clusterId) || !listed.has(share.clusterId))).toEqual([]);
          }
        }
      }),
    );
  });

  it('gives no endpoint of a refused exporter to anybody, and none at all to a refused importer', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        for (const consumer of fleet.members.values()) {
          for (const imported of planFleet(fleet, consumer.cluster.id).backends) {
            const namespace = imported.name.split('/')[0] ?? '';
            const foreign = imported.providers.filter((provider) => provider.clusterId !== consumer.cluster.id);
            const refused = foreign.filter((provider) => !judgeSameness(fleet.policies, namespace, fleet.members.get(provider.clusterId)?.cluster ?? consumer.cluster).mayExport);
            expect(refused).toEqual([]);
            if (!judgeSameness(fleet.policies, namespace, consumer.cluster).mayImport) expect(foreign).toEqual([]);
          }
        }
      }),
    );
  });

  it('tells no cluster of a pod on another network, even where pod ranges overlap', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        for (const { cluster } of fleet.members.values()) {
          const told = planFleet(fleet, cluster.id).backends.flatMap(({ providers }) => providers);
          for (const { clusterId: id, path, endpoints } of told) {
            const provider = fleet.members.get(id);
            expect(path).toBe(provider?.cluster.network === cluster.network ? 'direct' : 'gateway');
            if (path === 'gateway') expect(provider?.reach?.gateways).toEqual(endpoints.map(({ address }) => address));
          }
        }
      }),
    );
  });

  it('opens gateway ports for exactly those who are told to call them', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        for (const provider of IDS.map(clusterId)) {
          const { openings, callers } = planPaths(fleet, provider).intake;
          expect(callers.map((caller) => caller.clusterId)).toEqual([...new Set(openings.flatMap((opening) => opening.callers))].sort());
          for (const consumer of IDS.map(clusterId)) {
            const called = planFleet(fleet, consumer).backends.flatMap(({ name, providers }) =>
              providers.filter(({ clusterId: id, path }) => id === provider && path === 'gateway').flatMap(({ endpoints, ports }) => endpoints.flatMap(({ targetPorts }) => targetPorts.map((port, at) => `${name} ${ports[at]?.port} ${port}`))),
            );
            const open = new Set(openings.filter((opening) => opening.callers.includes(consumer)).map(({ backend: name, port, gatewayPort }) => `${name} ${port.port} ${gatewayPort}`));
            expect(called.filter((one) => !open.has(one))).toEqual([]);
          }
        }
      }),
    );
  });

  it('moves no share at the moment of a freeze', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        const frozen: FleetView = { ...fleet, freeze: { reason: 'test', sinceMs: 0, capacities: readyCapacities({ ...fleet, members: new Map([...fleet.members].map(([id, state]) => [id, { ...state, freshness: 'fresh' }])) }) } };
        expect(plansOf(frozen)).toEqual(plansOf(fleet));
      }),
    );
  });

  it('plans one backend as it plans it within the whole fleet', () => {
    fc.assert(
      fc.property(view, (fleet) => {
        for (const id of IDS) {
          const whole = new Map(planFleet(fleet, clusterId(id)).backends.map((imported) => [imported.name, imported]));
          for (const name of NAMES) expect(planBackend(fleet, clusterId(id), name)).toEqual(whole.get(name));
        }
      }),
    );
  });
});
