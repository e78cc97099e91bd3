import fc from 'fast-check';

import { byKey, clusterId, SHARE_TOTAL_BP } from '#domain/fleet';
import { frontendKey, gatewayPortKey, type Frontend, type FrontendListener, type GatewayPort, type PlannedBackend, type PlannedBackendId, type PlannedProvider, type RoutingPlan } from '#domain/routing-plan';

/** A seed for one run of property tests: from SPILLWAY_TEST_SEED, else new. Put it into the test's name, so that it is printed. */
export const testSeed = (): number => Number(process.env['SPILLWAY_TEST_SEED'] ?? Date.now() % 2_147_483_647);

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,6}[a-z0-9])?$/);
const port = fc.integer({ min: 1, max: 65_535 });
const protocol = fc.constantFrom('TCP' as const, 'UDP' as const);
const state = fc.constantFrom('ready' as const, 'serving-terminating' as const, 'not-ready' as const);

const affinity = fc.option(fc.record({ scope: fc.constantFrom('endpoint' as const, 'cluster' as const), timeoutSeconds: fc.integer({ min: 1, max: 86_400 }) }), { nil: undefined });
const trafficDistribution = fc.constantFrom('None' as const, 'PreferSameZone' as const, 'PreferSameNode' as const);

const ipv4 = fc.tuple(fc.integer({ min: 1, max: 223 }), fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => parts.join('.'));
const ipv6 = fc.tuple(fc.integer({ min: 1, max: 0xfff }), fc.integer({ min: 2, max: 0xfff })).map(([a, b]) => `fd00:${a.toString(16)}::${b.toString(16)}`);
const address = fc.oneof({ weight: 4, arbitrary: ipv4 }, { weight: 1, arbitrary: ipv6 });

/** A random plan as the builder makes them: sorted, unique keys, shares that sum to 10,000 or are all 0. */
export const routingPlanArbitrary: fc.Arbitrary<RoutingPlan> = fc
  .uniqueArray(backendId(), { maxLength: 6, selector: (id) => id })
  .chain((ids) =>
    fc.record({
      backends: fc.tuple(...ids.map(backend)).map((backends) => backends.sort(byKey((one) => one.id))),
      frontends: fc.uniqueArray(frontend(ids), { maxLength: 5, selector: frontendKey }).map((all) => all.sort(byKey(frontendKey))),
      gatewayPorts: gatewayPorts(ids),
    }),
  );

function backendId(): fc.Arbitrary<PlannedBackendId> {
  return fc.tuple(fc.constantFrom('composite', 'selector'), label, label, port, protocol).map(([kind, namespace, name, number, proto]) => `${kind}:${namespace}/${name}/${number}/${proto}` as PlannedBackendId);
}

function backend(id: PlannedBackendId): fc.Arbitrary<PlannedBackend> {
  return fc.uniqueArray(provider(), { maxLength: 4, selector: (one) => one.clusterId }).chain((providers) =>
    fc.tuple(fc.boolean(), fc.array(fc.nat(10), { minLength: providers.length, maxLength: providers.length }), affinity, trafficDistribution).map(([canServe, weights, stickiness, distribution]) => ({
      id,
      protocol: id.endsWith('/UDP') ? ('UDP' as const) : ('TCP' as const),
      affinity: stickiness,
      trafficDistribution: distribution,
      providers: withShares(providers, canServe ? weights : weights.map(() => 0)).sort(byKey((one) => one.clusterId)),
    })),
  );
}

function withShares(providers: readonly PlannedProvider[], weights: readonly number[]): PlannedProvider[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = weights.map((weight) => (total === 0 ? 0 : Math.floor((SHARE_TOTAL_BP * weight) / total)));
  const biggest = shares.indexOf(Math.max(...shares));
  const rest = total === 0 ? 0 : SHARE_TOTAL_BP - shares.reduce((sum, share) => sum + share, 0);
  return providers.map((one, index) => ({ ...one, shareBp: (shares[index] ?? 0) + (index === biggest ? rest : 0) }));
}

function provider(): fc.Arbitrary<PlannedProvider> {
  const endpoint = fc.record({ address, port, state, zone: fc.constantFrom('', 'a', 'b'), node: fc.constantFrom('', 'n1'), hostname: fc.constantFrom('', 'pod-0') });
  return fc.record({
    clusterId: label.map(clusterId),
    locality: fc.record({ region: fc.constantFrom('', 'east-1', 'west-1'), zone: fc.constantFrom('', 'a', 'b') }),
    path: fc.constantFrom('direct' as const, 'gateway' as const),
    shareBp: fc.constant(0),
    endpoints: fc.uniqueArray(endpoint, { maxLength: 5, selector: (one) => `${one.address} ${one.port}` }).map((all) => all.sort(byKey((one) => `${one.address} ${String(one.port).padStart(5, '0')}`))),
  });
}

const callers = fc.option(fc.record({ namespace: label, addresses: fc.uniqueArray(address, { maxLength: 3 }).map((all) => all.sort()) }), { nil: undefined });

function gatewayPorts(ids: readonly PlannedBackendId[]): fc.Arbitrary<GatewayPort[]> {
  if (ids.length === 0) return fc.constant([]);
  const one = fc.record({ port, protocol, backend: fc.constantFrom(...ids), nodes: fc.uniqueArray(label, { maxLength: 2 }).map((all) => all.sort()), sources: fc.uniqueArray(address, { maxLength: 3 }).map((all) => all.sort()) });
  return fc.uniqueArray(one, { maxLength: 3, selector: gatewayPortKey }).map((all) => all.sort(byKey(gatewayPortKey)));
}

function frontend(ids: readonly PlannedBackendId[]): fc.Arbitrary<Frontend> {
  return fc
    .record({ kind: fc.constantFrom('gateway' as const, 'service' as const, 'service-import' as const), namespace: label, name: label, callers, isHeadless: fc.boolean(), addresses: fc.uniqueArray(address, { maxLength: 2 }), listeners: fc.uniqueArray(listener(ids), { maxLength: 4, selector: (one) => one.name }) })
    .map(({ kind, namespace, name, callers: whom, isHeadless, addresses, listeners }) => ({
      kind,
      namespace,
      name,
      callers: whom,
      isHeadless,
      addresses: addresses.sort(),
      dnsNames: [`${name}.${namespace}.gw.cluster.local`],
      listeners: listeners.sort(byKey((one) => one.name)),
    }));
}

function listener(ids: readonly PlannedBackendId[]): fc.Arbitrary<FrontendListener> {
  const uses = fc.subarray([...ids]).chain((chosen) => fc.tuple(...chosen.map((id) => fc.integer({ min: 1, max: 1_000_000 }).map((weight) => ({ backend: id, weight })))));
  return fc.record({ name: label, port, protocol, uses: uses.map((all) => [...all].sort(byKey((use) => use.backend))), rejectWeight: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_000_000 })) });
}
