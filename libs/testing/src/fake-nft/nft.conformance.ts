import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { buildNftRuleset, type NftRuleset } from '#domain/nft-ruleset';
import type { Frontend, PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { clusterId } from '#domain/fleet';
import type { Nft } from '#ports';

import { until } from '../until.js';

/** One node's kernel and what a test may do to it behind the adapter's back. */
export interface NftUnderTest {
  readonly nft: Nft;
  /** A second adapter on the same kernel, as after a restart of the process. */
  reopen(): Promise<Nft>;
  /** Why the kernel does not hold these tables, by another way than the adapter's; empty where it does. */
  kernelProblems(ruleset: NftRuleset): Promise<readonly string[]>;
  /** Whether there is a table at all. */
  hasTable(): Promise<boolean>;
  /** What an administrator's `nft flush ruleset` does. */
  flushRuleset(): Promise<void>;
  end(): Promise<void>;
}

const endpoint = (address: string) => ({ address, port: 8080, state: 'ready' as const, zone: '', node: '', hostname: '' });
const backend = (name: string, ...addresses: readonly string[]): PlannedBackend => ({
  id: `composite:ai/${name}/80/TCP` as PlannedBackendId,
  protocol: 'TCP',
  affinity: undefined,
  trafficDistribution: 'None',
  providers: addresses.length === 0 ? [] : [{ clusterId: clusterId('east-1'), locality: { region: 'east-1', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: addresses.map(endpoint) }],
});
const frontend = (name: string, address: string): Frontend => ({
  kind: 'gateway',
  callers: undefined,
  isHeadless: false,
  namespace: 'ai',
  name,
  addresses: [address],
  dnsNames: [`${name}.ai.gw.cluster.local`],
  listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: `composite:ai/${name}/80/TCP` as PlannedBackendId, weight: 9 }], rejectWeight: 1 }],
});

const ONE: RoutingPlan = { frontends: [frontend('model', '172.30.0.5')], backends: [backend('model', '10.1.0.5', '10.1.0.6')], gatewayPorts: [] };
const OTHER_ENDPOINTS: RoutingPlan = { ...ONE, backends: [backend('model', '10.1.0.6', '10.1.0.7', '10.2.0.5')] };
const TWO: RoutingPlan = { frontends: [frontend('chat', '172.30.0.6'), ...ONE.frontends], backends: [backend('chat'), ...ONE.backends], gatewayPorts: [] };
const NONE: RoutingPlan = { frontends: [], backends: [], gatewayPorts: [] };

/** What every Nft must do, the fake and the real ones alike. */
export function nftConformance(name: string, setUp: () => Promise<NftUnderTest>): void {
  describe(`Nft conformance of ${name}`, () => {
    let test: NftUnderTest;
    beforeEach(async () => {
      test = await setUp();
    });
    afterEach(() => test.end());
    const build = (plan: RoutingPlan): NftRuleset => buildNftRuleset(plan, { affinity: test.nft.affinity });
    const apply = (plan: RoutingPlan) => test.nft.apply(build(plan));
    const kernelProblems = (plan: RoutingPlan) => test.kernelProblems(build(plan));

    it('makes the kernel hold exactly the ruleset, change after change', async () => {
      for (const plan of [NONE, ONE, OTHER_ENDPOINTS, TWO, ONE, NONE, TWO]) {
        expect((await apply(plan)).operations).toBeGreaterThan(0);
        expect(await kernelProblems(plan)).toEqual([]);
      }
    });

    it('sends nothing where nothing changed', async () => {
      await apply(ONE);
      expect((await apply(structuredClone(ONE))).operations).toBe(0);
      expect(await kernelProblems(ONE)).toEqual([]);
    });

    it('changes an endpoint by changing elements only', async () => {
      await apply(TWO);
      // Leaving and entering elements of one share map and of the set of hairpins.
      expect((await apply({ ...TWO, backends: [backend('chat'), backend('model', '10.1.0.5', '10.1.0.9')] })).operations).toBeLessThanOrEqual(4);
    });

    it('adopts the table of an earlier process without a change where it already fits', async () => {
      await apply(TWO);
      const later = await test.reopen();
      expect(await later.isIntact()).toBe(false);
      expect((await later.apply(build(TWO))).operations).toBe(0);
      expect(await later.isIntact()).toBe(true);
      await later.close();
      expect(await kernelProblems(TWO)).toEqual([]);
    });

    it('brings the table of an earlier process to another plan', async () => {
      await apply(TWO);
      const later = await test.reopen();
      expect((await later.apply(build(OTHER_ENDPOINTS))).operations).toBeGreaterThan(0);
      await later.close();
      expect(await kernelProblems(OTHER_ENDPOINTS)).toEqual([]);
    });

    it('says so when somebody flushes the ruleset, and the next apply restores it', async () => {
      await apply(ONE);
      let calls = 0;
      const unsubscribe = test.nft.onForeignChange(() => (calls += 1));
      expect(await test.nft.isIntact()).toBe(true);
      await test.flushRuleset();
      await until('the foreign change is noticed', () => calls > 0);
      expect(await test.nft.isIntact()).toBe(false);
      await apply(ONE);
      expect(await kernelProblems(ONE)).toEqual([]);
      expect(await test.nft.isIntact()).toBe(true);
      unsubscribe();
    });

    it('never takes its own change for a foreign one', async () => {
      let calls = 0;
      test.nft.onForeignChange(() => (calls += 1));
      for (const plan of [ONE, TWO, OTHER_ENDPOINTS, NONE]) await apply(plan);
      await test.flushRuleset();
      await until('the foreign change is noticed', () => calls > 0);
      // Notifications come in order: what came before the flush would have been counted before it.
      expect(calls).toBe(1);
    });

    it('removes the table, also where there is none', async () => {
      await apply(ONE);
      expect(await test.nft.exists()).toBe(true);
      await test.nft.remove();
      expect(await test.hasTable()).toBe(false);
      expect(await test.nft.exists()).toBe(false);
      await test.nft.remove();
      expect(await test.nft.isIntact()).toBe(false);
      await apply(ONE);
      expect(await kernelProblems(ONE)).toEqual([]);
    });

    it('keeps the table when it is closed', async () => {
      const other = await test.reopen();
      await other.apply(build(ONE));
      await other.close();
      expect(await kernelProblems(ONE)).toEqual([]);
    });

    it('has refused nothing at first', async () => {
      await apply(ONE);
      expect(await test.nft.rejectedConnections()).toBe(0);
    });
  });
}
