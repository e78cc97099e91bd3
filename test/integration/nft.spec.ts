import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { NetlinkNft } from '#adapters/netlink';
import { NftProgram } from '#adapters/nft-program';
import { byKey, clusterId, SHARE_TOTAL_BP } from '#domain/fleet';
import { buildNftRuleset, listedTableProblems, tracePacket, type NftRuleset } from '#domain/nft-ruleset';
import type { FrontendListener, PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { routingPlanArbitrary, testSeed, until } from '#testing';

import { nftConformance } from '#testing/conformance';
import { connectNamespaces, describeWithRealPackets, LabCaller, LabNamespace } from './packets/packet-lab.js';

const VIP = '172.30.0.5';
const CLIENT = '10.9.0.2';
const ENDPOINTS = ['10.1.0.2', '10.1.0.3', '10.1.0.4', '10.1.0.5', '10.1.0.6'] as const;
const PORTS = [8080, 9090] as const;
const REFUSED = 'ECONNREFUSED';

const listed = (namespace: LabNamespace, { tables }: NftRuleset): readonly string[] => [
  ...tables.flatMap((table) => listedTableProblems(JSON.parse(namespace.run('nft', '-j', 'list', 'table', table.family, 'spillway')), table).map(({ message }) => message)),
  ...(namespace.run('nft', 'list', 'tables').match(/spillway/g)?.length === tables.length ? [] : ['there are other tables of ours']),
];

describeWithRealPackets('nft in the kernel', () => {
  const openers = {
    'raw netlink': (networkNamespace: string) => NetlinkNft.open({ networkNamespace }),
    'the nft program': (networkNamespace: string) => NftProgram.open({ networkNamespace }),
  };
  for (const [name, open] of Object.entries(openers)) {
    nftConformance(name, async () => {
      const namespace = new LabNamespace();
      const nft = await open(namespace.path);
      return {
        nft,
        reopen: () => open(namespace.path),
        kernelProblems: (ruleset) => Promise.resolve(listed(namespace, ruleset)),
        hasTable: () => Promise.resolve(namespace.run('nft', 'list', 'tables').includes('spillway')),
        flushRuleset: () => Promise.resolve(void namespace.run('nft', 'flush', 'ruleset')),
        end: async () => {
          await nft.close();
          await namespace.end();
        },
      };
    });
  }

  describeWithRealPackets('as netlink writes it', () => {
    let namespace: LabNamespace;
    let nft: NetlinkNft;
    beforeAll(async () => {
      namespace = new LabNamespace();
      nft = await NetlinkNft.open({ networkNamespace: namespace.path });
    });
    afterAll(async () => {
      await nft?.close();
      await namespace.end();
    });

    const seed = testSeed();
    it(`nft lists exactly what we meant, through any change of plan (seed ${seed})`, async () => {
      await fc.assert(
        fc.asyncProperty(routingPlanArbitrary, async (plan) => {
          const ruleset = buildNftRuleset(plan);
          await nft.apply(ruleset);
          expect(listed(namespace, ruleset)).toEqual([]);
        }),
        { seed, numRuns: 60, endOnFailure: true },
      );
    }, 120_000);

    it('loads as text, and netlink finds nothing to change in it', async () => {
      const plans = fc.sample(routingPlanArbitrary, { seed, numRuns: 20 });
      const ruleset = buildNftRuleset(plans.find(({ frontends }) => frontends.some(({ callers }) => callers !== undefined)) ?? { frontends: [], backends: [], gatewayPorts: [] }, { affinity: 'hashed' });
      await nft.remove();
      namespace.nft(ruleset.text);
      expect((await nft.apply(ruleset)).operations).toBe(0);
    });

    it('replaces a table that is no table of ours', async () => {
      const ruleset = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });
      await nft.remove();
      namespace.nft('table ip spillway {\n set vips { type inet_service; }\n chain nat-output { type filter hook input priority 0; }\n }');
      await nft.apply(ruleset);
      expect(listed(namespace, ruleset)).toEqual([]);
    });

    it('says which step the kernel refused and why', async () => {
      const ruleset = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });
      const broken = { name: 'listener-broken', rules: [[{ kind: 'masquerade' as const }], [{ kind: 'dispatch' as const, fields: ['destination' as const], map: 'missing' }]] };
      const tables = ruleset.tables.map((table) => ({ ...table, chains: [...table.chains, broken] }));
      await expect(nft.apply({ ...ruleset, tables })).rejects.toMatchObject({ code: 'NFT_REJECTED', kind: 'bug', message: 'ENOENT while adding a rule to chain listener-broken of table ip' });
      await nft.apply(ruleset);
      expect(listed(namespace, ruleset)).toEqual([]);
    });

    it('leaves tables of others alone', async () => {
      namespace.nft('table ip kube-proxy {\n chain services { counter; }\n }');
      await nft.apply(buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] }));
      await nft.remove();
      expect(namespace.run('nft', 'list', 'tables')).toBe('table ip kube-proxy\n');
    });
  });

  describeWithRealPackets('with real packets', () => {
    let node: LabNamespace;
    let client: LabNamespace;
    let pods: LabNamespace;
    let fromClient: LabCaller;
    let fromPods: LabCaller;
    let fromNode: LabCaller;
    let nft: NetlinkNft;

    beforeAll(async () => {
      [node, client, pods] = [new LabNamespace(), new LabNamespace(), new LabNamespace()];
      node.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
      connectNamespaces(node, client, { gateway: '10.9.0.1', addresses: [CLIENT] });
      connectNamespaces(node, pods, { gateway: '10.1.0.1', addresses: ENDPOINTS });
      // A node always has a way out; a virtual address is never a neighbour.
      node.run('ip', 'route', 'add', 'default', 'via', CLIENT);
      await pods.start('answer-server.ts', ...ENDPOINTS.flatMap((address) => PORTS.map((port) => `${address}:${port}`)));
      [fromClient, fromPods, fromNode] = await Promise.all([LabCaller.start(client), LabCaller.start(pods), LabCaller.start(node)]);
      nft = await NetlinkNft.open({ networkNamespace: node.path });
    });
    afterAll(async () => {
      await nft?.close();
      for (const namespace of [node, client, pods]) await namespace.end();
    });
    beforeEach(async () => {
      await nft.apply(buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] }));
    });

    const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
    const CANARY = 'selector:ai/canary/80/TCP' as PlannedBackendId;
    const backend = (id: PlannedBackendId, shares: Readonly<Record<string, readonly [shareBp: number, ...addresses: readonly string[]]>>): PlannedBackend => ({
      id,
      protocol: 'TCP',
      affinity: undefined,
      trafficDistribution: 'None',
      providers: Object.entries(shares).map(([cluster, [shareBp, ...addresses]]) => ({
        clusterId: clusterId(cluster),
        locality: { region: '', zone: '' },
        path: 'direct',
        shareBp,
        endpoints: addresses.map((address) => ({ address, port: 8080, state: 'ready' as const, zone: '', node: '', hostname: '' })),
      })),
    });
    const planOf = (listener: Partial<FrontendListener>, ...backends: readonly PlannedBackend[]): RoutingPlan => ({
      frontends: [{ kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: [VIP], dnsNames: [], listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: MODEL, weight: 1 }], rejectWeight: 0, ...listener }] }],
      backends,
      gatewayPorts: [],
    });
    const apply = (plan: RoutingPlan) => nft.apply(buildNftRuleset(plan));

    // 4.5 standard deviations: a right kernel fails one run in a hundred thousand.
    const expectShares = (outcomes: Readonly<Record<string, number>>, want: Readonly<Record<string, number>>): void => {
      const total = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
      expect(Object.keys(outcomes).sort()).toEqual(Object.keys(want).sort());
      for (const [outcome, part] of Object.entries(want)) {
        expect(Math.abs((outcomes[outcome] ?? 0) - total * part)).toBeLessThan(4.5 * Math.sqrt(total * part * (1 - part)));
      }
    };

    it('translates a pod’s connection to the endpoint, and the endpoint sees the pod', async () => {
      await apply(planOf({}, backend(MODEL, { 'east-1': [10_000, ENDPOINTS[0]] })));
      expect(await fromClient.call({ host: VIP, port: 80, count: 20, showCaller: true })).toEqual({ [`${ENDPOINTS[0]}:8080 called by ${CLIENT}`]: 20 });
    });

    it('splits connections by share, by weight and evenly within a cluster, and refuses the rest at once', async () => {
      await apply(
        planOf(
          { uses: [{ backend: MODEL, weight: 60 }, { backend: CANARY, weight: 10 }], rejectWeight: 30 },
          backend(MODEL, { 'east-1': [7_500, ENDPOINTS[0], ENDPOINTS[1]], 'west-1': [2_500, ENDPOINTS[2]] }),
          backend(CANARY, { 'east-1': [10_000, ENDPOINTS[3]] }),
        ),
      );
      const outcomes = await fromClient.call({ host: VIP, port: 80, count: 4_000 });
      expectShares(outcomes, { [`${ENDPOINTS[0]}:8080`]: 0.225, [`${ENDPOINTS[1]}:8080`]: 0.225, [`${ENDPOINTS[2]}:8080`]: 0.15, [`${ENDPOINTS[3]}:8080`]: 0.1, [REFUSED]: 0.3 });
      expect(await nft.rejectedConnections()).toBe(outcomes[REFUSED]);
    });

    it('masquerades a pod that reaches itself', async () => {
      await apply(planOf({}, backend(MODEL, { 'east-1': [10_000, ENDPOINTS[0]] })));
      expect(await fromPods.call({ host: VIP, port: 80, localAddress: ENDPOINTS[0], count: 10, showCaller: true })).toEqual({ [`${ENDPOINTS[0]}:8080 called by 10.1.0.1`]: 10 });
    });

    it('translates a connection of the node itself, with the address of the interface it leaves by', async () => {
      await apply(planOf({ rejectWeight: 1 }, backend(MODEL, { 'east-1': [10_000, ENDPOINTS[0]] })));
      const outcomes = await fromNode.call({ host: VIP, port: 80, count: 200, showCaller: true });
      expect(Object.keys(outcomes).sort()).toEqual([`${ENDPOINTS[0]}:8080 called by 10.1.0.1`, REFUSED]);
    });

    it.each([
      { version: '1.33 and before', priorities: 'forward priority -110', output: 'output priority -90' },
      { version: '1.34 and after', priorities: 'forward priority 0', output: 'output priority 0' },
    ])('refuses what leads nowhere at once, ahead of the drop of kube-proxy $version', async ({ priorities, output }) => {
      node.nft(`table ip drops\ndelete table ip drops\ntable ip drops {
        chain forward { type filter hook ${priorities}; ct state new ip daddr 172.30.0.0/16 drop; }
        chain output { type filter hook ${output}; ct state new ip daddr 172.30.0.0/16 drop; }
        }`);
      await apply(planOf({}, backend(MODEL, {})));
      for (const caller of [fromClient, fromNode]) {
        expect(await caller.call({ host: VIP, port: 80, count: 5 })).toEqual({ [REFUSED]: 5 });
        expect(await caller.call({ host: VIP, port: 81, count: 5 })).toEqual({ [REFUSED]: 5 });
      }
      expect(await fromClient.call({ host: '172.30.0.99', port: 80, count: 1 })).toEqual({ timeout: 1 });
      await apply(planOf({}, backend(MODEL, { 'east-1': [10_000, ENDPOINTS[0]] })));
      expect(await fromClient.call({ host: VIP, port: 80, count: 5 })).toEqual({ [`${ENDPOINTS[0]}:8080`]: 5 });
      node.nft('delete table ip drops');
    });

    it('is noticed when it is flushed, and serves again after the next apply', async () => {
      const plan = planOf({}, backend(MODEL, { 'east-1': [10_000, ENDPOINTS[0]] }));
      await apply(plan);
      let isFlushed = false;
      const unsubscribe = nft.onForeignChange(() => (isFlushed = true));
      node.run('nft', 'flush', 'ruleset');
      await until('the flush is noticed', () => isFlushed);
      unsubscribe();
      await apply(plan);
      expect(await fromClient.call({ host: VIP, port: 80, count: 20 })).toEqual({ [`${ENDPOINTS[0]}:8080`]: 20 });
    });

    it('loses and refuses no connection while endpoints come and go and processes take over', async () => {
      const plans = [planOf({}, backend(MODEL, { 'east-1': [10_000, ENDPOINTS[0], ENDPOINTS[1]] })), planOf({}, backend(MODEL, { 'east-1': [4_000, ENDPOINTS[0]], 'west-1': [6_000, ENDPOINTS[2], ENDPOINTS[3]] }))];
      await apply(plans[0]!);
      let isCalling = true;
      const calls = fromClient.call({ host: VIP, port: 80, count: 5_000 }).finally(() => (isCalling = false));
      let changes = 0;
      while (isCalling) {
        const next = await NetlinkNft.open({ networkNamespace: node.path });
        await next.apply(buildNftRuleset(plans[changes % 2]!));
        await next.apply(buildNftRuleset(plans[(changes + 1) % 2]!));
        await next.close();
        changes += 1;
      }
      const outcomes = await calls;
      expect(Object.keys(outcomes).filter((outcome) => !outcome.endsWith(':8080'))).toEqual([]);
      expect(changes).toBeGreaterThan(5);
    });

    const seed = testSeed();
    it(`does with every connection what the tracer says it may (seed ${seed})`, async () => {
      let cases = 0;
      await fc.assert(
        fc.asyncProperty(labPlanArbitrary, async (plan) => {
          const ruleset = buildNftRuleset(plan);
          await nft.apply(ruleset);
          for (const { host, port } of plan.frontends.flatMap(({ addresses, listeners }) => addresses.flatMap((address) => [...listeners.map((listener) => ({ host: address, port: listener.port })), { host: address, port: 7 }]))) {
            const may = possibleOutcomes(ruleset, host, port);
            const outcomes = await fromClient.call({ host, port, count: 12 });
            expect(Object.keys(outcomes).filter((outcome) => !may.has(outcome))).toEqual([]);
            cases += 1;
          }
        }),
        { seed, numRuns: 60, endOnFailure: true },
      );
      expect(cases).toBeGreaterThan(200);
    }, 120_000);
  });
});

// Everything that can become of a connection: the tracer asked at both ends of each interval and in the refused rest.
function possibleOutcomes(ruleset: NftRuleset, host: string, port: number): ReadonlySet<string> {
  const draws = ruleset.tables.flatMap(({ sets }) => sets).flatMap((set) => (set.kind === 'shares' ? [...set.elements.flatMap(({ from, to }) => [from / set.modulus, to / set.modulus]), (set.modulus - set.rejectedUnits) / set.modulus] : []));
  const outcomes = [0, ...draws.filter((draw) => draw < 1)].map((random) => {
    const verdict = tracePacket(ruleset, { hook: 'prerouting', src: CLIENT, dst: host, protocol: 'tcp', dport: port, random });
    return verdict.verdict === 'dnat' ? verdict.to : REFUSED;
  });
  return new Set(outcomes);
}

const labEndpoint = fc.record({ address: fc.constantFrom(...ENDPOINTS), port: fc.constantFrom(...PORTS), state: fc.constantFrom('ready' as const, 'serving-terminating' as const, 'not-ready' as const), zone: fc.constant(''), node: fc.constant(''), hostname: fc.constant('') });
const labProvider = fc.record({ clusterId: fc.constantFrom('east-1', 'west-1', 'north-1').map(clusterId), endpoints: fc.uniqueArray(labEndpoint, { maxLength: 3, selector: ({ address, port }) => `${address}:${port}` }) });
const labBackend = fc.tuple(fc.uniqueArray(labProvider, { maxLength: 2, selector: (one) => one.clusterId }), fc.integer({ min: 0, max: SHARE_TOTAL_BP })).map(([providers, first]) => ({
  protocol: 'TCP' as const,
  affinity: undefined,
  trafficDistribution: 'None' as const,
  providers: providers.map((provider, index) => ({ ...provider, locality: { region: '', zone: '' }, path: 'direct' as const, shareBp: providers.length === 1 ? SHARE_TOTAL_BP : index === 0 ? first : SHARE_TOTAL_BP - first })),
}));
const LAB_BACKENDS = ['a', 'b', 'c'].map((name) => `composite:ai/${name}/80/TCP` as PlannedBackendId);
const labListener = fc.record({
  name: fc.constantFrom('http', 'admin', 'grpc'),
  port: fc.integer({ min: 80, max: 84 }),
  protocol: fc.constant('TCP' as const),
  rejectWeight: fc.constantFrom(0, 0, 1, 5),
  uses: fc.subarray(LAB_BACKENDS).map((ids) => ids.map((id, index) => ({ backend: id, weight: index + 1 }))),
});
const labFrontend = fc.record({
  name: fc.constantFrom('one', 'two', 'three'),
  addresses: fc.uniqueArray(fc.constantFrom('172.30.0.11', '172.30.0.12', '172.30.0.13'), { minLength: 1, maxLength: 2 }),
  listeners: fc.uniqueArray(labListener, { maxLength: 3, selector: (listener) => listener.name }),
});
/** Random plans over the addresses of the lab. */
const labPlanArbitrary: fc.Arbitrary<RoutingPlan> = fc.record({
  backends: fc.tuple(labBackend, labBackend, labBackend).map((backends) => backends.map((one, index) => ({ ...one, id: LAB_BACKENDS[index]! }))),
  frontends: fc.uniqueArray(labFrontend, { minLength: 1, maxLength: 3, selector: (one) => one.name }).map((all) => all.sort(byKey((one) => one.name)).map((one) => ({ ...one, kind: 'gateway' as const, callers: undefined, isHeadless: false, namespace: 'ai', dnsNames: [] }))),
  gatewayPorts: fc.constant([]),
});
