import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { routingPlanArbitrary, runOperations, testSeed, type TableContent } from '#testing';

import { buildNftRuleset } from './build-nft-ruleset.js';
import { diffNftRuleset, type NftOperation } from './diff-nft-ruleset.js';
import type { NftRuleset } from './nft-ruleset.js';
import { renderNftRuleset } from './render-nft-ruleset.js';
import { splitNftOperations } from './split-nft-operations.js';

const textOf = (content: TableContent | undefined): string => (content === undefined ? '' : renderNftRuleset({ family: 'ip', table: 'spillway', unsupported: [], ...content }));
const rulesetArbitrary = routingPlanArbitrary.map(buildNftRuleset);
const EMPTY = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });

// What a listener's connections get: the endpoints of its map, or undefined where nothing refuses or serves them.
function served(content: Pick<NftRuleset, 'sets' | 'chains'>): ReadonlyMap<string, string> {
  const sets = new Map(content.sets.map((set) => [set.name, set]));
  const frontends = sets.get('frontends');
  const verdicts = frontends?.kind === 'verdicts' ? frontends.elements : [];
  return new Map(
    verdicts.map(({ address, port, chain }) => {
      const rules = content.chains.find(({ name }) => name === chain)?.rules ?? [];
      const maps = rules.flat().flatMap((statement) => (statement.kind === 'dnat-by-share' ? [sets.get(statement.map)] : []));
      return [`${address}:${port}`, JSON.stringify({ rules, maps })];
    }),
  );
}

describe('splitNftOperations', () => {
  const seed = testSeed();
  it(`serves every listener as before or as after, wherever a change is cut (seed ${seed})`, () => {
    fc.assert(
      fc.property(rulesetArbitrary, rulesetArbitrary, (before, after) => {
        let there: TableContent | undefined = before;
        for (const part of splitDown(diffNftRuleset(before, after))) {
          there = runOperations(there, part);
          if (there === undefined) throw new Error('the table is gone in the middle');
          for (const [listener, is] of served(there)) expect([served(before).get(listener), served(after).get(listener)]).toContain(is);
          for (const listener of served(before).keys()) if (served(after).has(listener)) expect(served(there).has(listener)).toBe(true);
        }
        expect(textOf(there)).toBe(after.text);
      }),
      { seed },
    );
  });

  it('has nothing to cut in the change of one map', () => {
    const share = (address: string) => ({ kind: 'shares' as const, name: 'shares-x', modulus: 10, rejectedUnits: 0, elements: [{ from: 0, to: 9, address, port: 80 }] });
    expect(splitNftOperations([{ op: 'delete-elements', set: share('10.1.0.5') }, { op: 'add-elements', set: share('10.1.0.6') }])).toBeUndefined();
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
        expect(textOf(runOperations(before, diffNftRuleset(before, after)))).toBe(after.text);
      }),
      { seed },
    );
  });

  it(`makes the table of whatever is there (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.option(rulesetArbitrary, { nil: undefined }), rulesetArbitrary, (there, after) => {
        expect(textOf(runOperations(there, diffNftRuleset(undefined, after)))).toBe(after.text);
      }),
      { seed, numRuns: 50 },
    );
  });

  it(`does nothing where nothing differs (seed ${seed})`, () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (plan) => {
        expect(diffNftRuleset(buildNftRuleset(plan), buildNftRuleset(structuredClone(plan)))).toEqual([]);
      }),
      { seed, numRuns: 50 },
    );
  });

  it('replaces the table where a declaration changed in place', () => {
    const chains = EMPTY.chains.map((chain) => (chain.name === 'nat-output' ? { ...chain, hook: { type: 'nat' as const, hook: 'output' as const, priority: -1 } } : chain));
    const after: NftRuleset = { ...EMPTY, chains };
    expect(diffNftRuleset(EMPTY, after).slice(0, 3)).toEqual([{ op: 'add-table' }, { op: 'delete-table' }, { op: 'add-table' }]);
  });

  it('rewrites only the chain whose rules changed', () => {
    const chains = EMPTY.chains.map((chain) => (chain.name === 'nat-output' ? { ...chain, rules: [] } : chain));
    const changed = EMPTY.chains.find(({ name }) => name === 'nat-output');
    expect(diffNftRuleset({ ...EMPTY, chains }, EMPTY)).toEqual([{ op: 'flush-chain', chain: changed }, { op: 'add-rule', chain: 'nat-output', rule: changed?.rules[0] }]);
  });
});
