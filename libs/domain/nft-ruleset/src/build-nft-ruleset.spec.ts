import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { RoutingPlan } from '#domain/routing-plan';
import { goldenCases, goldenText, orphanGoldens, routingPlanArbitrary, testdata, testSeed } from '#testing';

import type { NftRuleset, NftSet } from './nft-ruleset.js';
import { buildNftRuleset } from './build-nft-ruleset.js';
import { nftRulesetProblems } from './ruleset-problems.js';

const folder = testdata(import.meta.dirname);

describe('buildNftRuleset', () => {
  it.each(goldenCases(folder))('renders the table of %s', (name) => {
    const plan = JSON.parse(readFileSync(join(folder, `${name}.in.json`), 'utf8')) as RoutingPlan;
    const { text } = buildNftRuleset(plan);
    expect(text).toBe(goldenText(join(folder, `${name}.out.nft`), text));
  });

  it('has no golden without a plan', () => {
    expect(orphanGoldens(folder)).toEqual([]);
  });

  it('lists what nodes do not carry, and carries the rest', () => {
    const plan = JSON.parse(readFileSync(join(folder, 'nothing-answers.in.json'), 'utf8')) as RoutingPlan;
    const { unsupported } = buildNftRuleset(plan);
    expect(unsupported).toEqual([]);
    const onlyIpv4 = buildNftRuleset(plan, { families: ['ip'] });
    expect(onlyIpv4.tables.map(({ family }) => family)).toEqual(['ip']);
    expect(onlyIpv4.unsupported.map(({ path, code }) => `${path} ${code}`)).toEqual(['ai/empty/none NFT_FAMILY_UNSUPPORTED', 'ai/empty/udp NFT_FAMILY_UNSUPPORTED']);
  });

  it('gives an address and port to the first of two frontends that name it, and says so', () => {
    const listener = { name: 'http', port: 80, protocol: 'TCP' as const, uses: [], rejectWeight: 1 };
    const frontend = (name: string) => ({ kind: 'gateway' as const, callers: undefined, isHeadless: false, namespace: 'ai', name, addresses: ['172.30.0.5'], dnsNames: [], listeners: [listener] });
    const ruleset = buildNftRuleset({ frontends: [frontend('a'), frontend('b')], backends: [], gatewayPorts: [] });
    expect(ruleset.unsupported).toEqual([{ path: 'ai/b/http', code: 'NFT_ADDRESS_TAKEN', message: '172.30.0.5 tcp port 80 of ai/b/http already belongs to ai/a/http; give it another address' }]);
    expect(ruleset.tables.flatMap(({ sets }) => sets).flatMap((set) => (set.kind === 'verdicts' ? set.elements.map(({ chain }) => chain) : []))).toEqual([expect.stringMatching(/-ai\/a\/http$/)]);
  });

  it('keeps the objects of what did not change, so that a change of one backend compares with nothing else', () => {
    const [plan] = fc.sample(routingPlanArbitrary.filter(({ backends, frontends }) => backends.length > 1 && frontends.length > 1), { seed: testSeed(), numRuns: 1 });
    const [first, ...others] = plan?.backends ?? [];
    const changed: RoutingPlan = { frontends: plan?.frontends ?? [], backends: first === undefined ? [] : [{ ...first, providers: [] }, ...others], gatewayPorts: [] };
    const before = plan === undefined ? undefined : buildNftRuleset(plan);
    const after = buildNftRuleset(changed, before === undefined ? {} : { before });
    const users = changed.frontends.flatMap(({ listeners }) => listeners).filter(({ uses }) => uses.some(({ backend }) => backend === first?.id)).length;
    const setsOf = (ruleset: NftRuleset | undefined): readonly NftSet[] => ruleset?.tables.flatMap(({ sets }) => sets) ?? [];
    const known = new Set(setsOf(before));
    const renewed = setsOf(after).filter((set) => (set.kind === 'shares' || set.kind === 'owners') && !known.has(set)).length;
    expect(renewed).toBeLessThanOrEqual(2 * users);
  });

  it('keeps names within nft words and the kernel limit, whatever a plan is called', () => {
    const nasty = 'x'.repeat(253);
    const listener = { name: `${nasty}; flush ruleset }`, port: 80, protocol: 'TCP' as const, uses: [], rejectWeight: 1 };
    const { tables } = buildNftRuleset({ frontends: [{ kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'a"b\n', name: nasty, addresses: ['172.30.0.5'], dnsNames: [], listeners: [listener] }], backends: [], gatewayPorts: [] });
    for (const { name } of tables.flatMap(({ chains }) => chains)) expect(name).toMatch(/^[a-z][a-zA-Z0-9/_.-]{0,180}$/);
  });

  const seed = testSeed();
  it(`tiles every share map and names nothing that is not there (seed ${seed})`, () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (plan) => {
        expect(nftRulesetProblems(buildNftRuleset(plan))).toEqual([]);
      }),
      { seed },
    );
  });

  it(`leads to no endpoint of a provider without share, and to no endpoint that is not ready while one is (seed ${seed})`, () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (plan) => {
        const reached = new Set(buildNftRuleset(plan).tables.flatMap(({ sets }) => sets).flatMap((set) => (set.kind === 'shares' ? set.elements.map(({ address, port }) => `${address} ${port}`) : [])));
        const allowed = new Set(
          plan.backends.flatMap(({ providers }) =>
            providers
              .filter(({ shareBp }) => shareBp > 0)
              .flatMap(({ endpoints }) => endpoints.filter(({ state, address }) => state === 'ready' || (state === 'serving-terminating' && endpoints.every((other) => other.state !== 'ready' || other.address.includes(':') !== address.includes(':'))))),
          ).map(({ address, port }) => `${address} ${port}`),
        );
        expect([...reached].filter((endpoint) => !allowed.has(endpoint))).toEqual([]);
      }),
      { seed },
    );
  });

  it(`writes equal plans as equal texts (seed ${seed})`, () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (plan) => {
        expect(buildNftRuleset(structuredClone(plan)).text).toBe(buildNftRuleset(plan).text);
      }),
      { seed, numRuns: 50 },
    );
  });
});
