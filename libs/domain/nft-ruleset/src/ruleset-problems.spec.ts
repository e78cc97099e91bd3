import { describe, expect, it } from '@jest/globals';

import { buildNftRuleset } from './build-nft-ruleset.js';
import type { NftShareMap, NftTable } from './nft-ruleset.js';
import { nftRulesetProblems, unitMapProblems } from './ruleset-problems.js';

const map = (rejectedUnits: number, ...intervals: readonly (readonly [number, number])[]): NftShareMap => ({
  kind: 'shares',
  name: 'shares-x',
  protocol: 'tcp',
  modulus: 100,
  rejectedUnits,
  elements: intervals.map(([from, to]) => ({ from, to, address: '10.1.0.5', port: 80 })),
});
const codes = (shares: NftShareMap): readonly string[] => unitMapProblems(shares).map(({ code }) => code);

describe('unitMapProblems', () => {
  it.each([
    { name: 'the whole is mapped', shares: map(0, [0, 49], [50, 99]), want: [] },
    { name: 'the rest is refused on purpose', shares: map(50, [0, 49]), want: [] },
    { name: 'everything is refused on purpose', shares: map(100), want: [] },
    { name: 'a unit leads to two endpoints', shares: map(0, [0, 50], [50, 99]), want: ['NFT_INTERVAL_OVERLAP', 'NFT_SHARES_INCOMPLETE'] },
    { name: 'units between two intervals lead nowhere', shares: map(0, [0, 40], [50, 99]), want: ['NFT_SHARES_INCOMPLETE'] },
    { name: 'refused units may lie between mapped ones', shares: map(9, [0, 40], [50, 99]), want: [] },
    { name: 'less is mapped than the refused units say', shares: map(10, [0, 49]), want: ['NFT_SHARES_INCOMPLETE'] },
    { name: 'an interval is upside down', shares: map(61, [0, 49], [50, 38]), want: ['NFT_INTERVAL_INVALID'] },
    { name: 'an interval goes beyond the modulus', shares: map(0, [0, 100]), want: ['NFT_INTERVAL_INVALID', 'NFT_SHARES_INCOMPLETE'] },
  ])('$name: $want', ({ shares, want }) => {
    expect(codes(shares)).toEqual(want);
  });
});

describe('nftRulesetProblems', () => {
  const ruleset = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });
  const [table] = ruleset.tables;
  const broken = (change: (table: NftTable) => Partial<NftTable>): readonly string[] =>
    nftRulesetProblems({ tables: table === undefined ? [] : [{ ...table, ...change(table) }] }).map(({ path, message }) => `${path}: ${message}`);

  it('names the rule whose set is missing', () => {
    expect(broken(({ sets }) => ({ sets: sets.filter(({ name }) => name !== 'hairpins') }))).toEqual(['translated: set or map hairpins is not in the table']);
  });

  it('names the rule whose chain is missing', () => {
    expect(broken(({ chains }) => ({ chains: chains.filter(({ name }) => name !== 'translated') }))).toEqual(Array.from({ length: 2 }, () => 'nat-postrouting: chain translated is not in the table'));
  });

  it('names the verdict whose chain is missing, also where the chains were proven with others', () => {
    expect(nftRulesetProblems(ruleset)).toEqual([]);
    const frontends = { kind: 'verdicts' as const, name: 'frontends', elements: [{ address: '172.30.0.5', protocol: 'tcp' as const, port: 80, chain: 'listener-x' }] };
    expect(broken(({ sets }) => ({ sets: sets.map((set) => (set.name === 'frontends' ? frontends : set)) }))).toEqual(['frontends: chain listener-x is not in the table']);
  });

  it('proves each new map of units, and each only once', () => {
    const untiled = map(0, [0, 49]);
    expect(broken(({ sets }) => ({ sets: [...sets, untiled] }))).toEqual(['shares-x: 50 mapped and 0 rejected units do not make 100']);
  });
});
