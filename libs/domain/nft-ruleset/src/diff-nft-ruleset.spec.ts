import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { routingPlanArbitrary, runOperations, testSeed, type TableContent } from '#testing';

import { buildNftRuleset } from './build-nft-ruleset.js';
import { diffNftRuleset, tablesInForce, UNKNOWN_TABLES, type NftOperation } from './diff-nft-ruleset.js';
import type { NftChain, NftRuleset, NftTable } from './nft-ruleset.js';
import { renderNftTables } from './render-nft-ruleset.js';
import { splitNftOperations } from './split-nft-operations.js';

const textOf = (content: TableContent): string => renderNftTables(content);
const rulesetArbitrary = routingPlanArbitrary.map(buildNftRuleset);
const EMPTY = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });

// Where a front end's connections may go by one table: what its chain asks, and what is in there.
interface Served {
  readonly rules: string;
  readonly maps: ReadonlyMap<string, string>;
}

function served(tables: TableContent): ReadonlyMap<string, Served> {
  return new Map(tables.flatMap(servedBy));
}

function servedBy({ family, sets, chains }: NftTable): (readonly [string, Served])[] {
  const byName = new Map(sets.map((set) => [set.name, set]));
  const frontends = byName.get('frontends');
  return (frontends?.kind === 'verdicts' ? frontends.elements : []).map(({ address, protocol, port, chain }) => {
    const rules = chains.find(({ name }) => name === chain)?.rules ?? [];
    const maps = rules.flat().flatMap((statement) => ('map' in statement ? [[statement.map, JSON.stringify(byName.get(statement.map))] as const] : []));
    return [`${family} ${address} ${protocol} ${port}`, { rules: JSON.stringify(rules), maps: new Map(maps) }];
  });
}

describe('splitNftOperations', () => {
  const seed = testSeed();
  it(`serves every listener as before or as after, wherever a change is cut (seed ${seed})`, () => {
    fc.assert(
      fc.property(rulesetArbitrary, rulesetArbitrary, (before, after) => {
        let there = before.tables;
        const [was, willBe] = [served(before.tables), served(after.tables)];
        for (const part of splitDown(diffNftRuleset(tablesInForce(before), after))) {
          there = runOperations(there, part);
          for (const [listener, is] of served(there)) {
            expect([was.get(listener)?.rules, willBe.get(listener)?.rules]).toContain(is.rules);
            for (const [name, map] of is.maps) expect([was.get(listener)?.maps.get(name), willBe.get(listener)?.maps.get(name)]).toContain(map);
          }
          for (const listener of was.keys()) if (willBe.has(listener)) expect(served(there).has(listener)).toBe(true);
        }
        expect(textOf(there)).toBe(after.text);
      }),
      { seed },
    );
  });

  it('has nothing to cut in the change of one map', () => {
    const share = (address: string) => ({ kind: 'shares' as const, name: 'shares-x', protocol: 'tcp' as const, modulus: 10, rejectedUnits: 0, elements: [{ from: 0, to: 9, address, port: 80 }] });
    expect(splitNftOperations([{ op: 'delete-elements', family: 'ip', set: share('10.1.0.5') }, { op: 'add-elements', family: 'ip', set: share('10.1.0.6') }])).toBeUndefined();
  });
});

function splitDown(operations: readonly NftOperation[]): readonly (readonly NftOperation[])[] {
  const halves = splitNftOperations(operations);
  return halves === undefined ? [operations] : halves.flatMap(splitDown);
}

describe('diffNftRuleset', () => {
  const seed = testSeed();

  it(`leads from any table to any other, each step valid (seed ${seed})`, () => {
    fc.assert(
      fc.property(rulesetArbitrary, rulesetArbitrary, (before, after) => {
        expect(textOf(runOperations(before.tables, diffNftRuleset(tablesInForce(before), after)))).toBe(after.text);
      }),
      { seed },
    );
  });

  it(`makes the table of whatever is there (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.option(rulesetArbitrary, { nil: undefined }), rulesetArbitrary, (there, after) => {
        expect(textOf(runOperations(there?.tables ?? [], diffNftRuleset(UNKNOWN_TABLES, after)))).toBe(after.text);
      }),
      { seed, numRuns: 50 },
    );
  });

  it(`does nothing where nothing differs (seed ${seed})`, () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (plan) => {
        expect(diffNftRuleset(tablesInForce(buildNftRuleset(plan)), buildNftRuleset(structuredClone(plan)))).toEqual([]);
      }),
      { seed, numRuns: 50 },
    );
  });

  const changedChains = (change: (chain: NftChain) => NftChain): NftRuleset => ({ ...EMPTY, text: '', tables: EMPTY.tables.map((table) => ({ ...table, chains: table.chains.map(change) })) });

  it('replaces the table where a declaration changed in place', () => {
    const after = changedChains((chain) => (chain.name === 'nat-output' ? { ...chain, hook: { type: 'nat', hook: 'output', priority: -1 } } : chain));
    expect(diffNftRuleset(tablesInForce(EMPTY), after).slice(0, 3)).toEqual([{ op: 'add-table', family: 'ip' }, { op: 'delete-table', family: 'ip' }, { op: 'add-table', family: 'ip' }]);
  });

  it('rewrites only the chain whose rules changed', () => {
    const before = changedChains((chain) => (chain.name === 'nat-output' ? { ...chain, rules: [] } : chain));
    const changed = EMPTY.tables[0]?.chains.find(({ name }) => name === 'nat-output');
    expect(diffNftRuleset(tablesInForce(before), EMPTY)).toEqual([{ op: 'flush-chain', family: 'ip', chain: changed }, { op: 'add-rule', family: 'ip', chain: 'nat-output', rule: changed?.rules[0] }]);
  });
});
