import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { routingPlanArbitrary, runOperations, testSeed, type TableContent } from '#testing';

import { buildNftRuleset } from './build-nft-ruleset.js';
import { diffNftRuleset } from './diff-nft-ruleset.js';
import type { NftRuleset } from './nft-ruleset.js';
import { renderNftRuleset } from './render-nft-ruleset.js';

const textOf = (content: TableContent | undefined): string => (content === undefined ? '' : renderNftRuleset({ family: 'ip', table: 'spillway', unsupported: [], ...content }));
const rulesetArbitrary = routingPlanArbitrary.map(buildNftRuleset);
const EMPTY = buildNftRuleset({ frontends: [], backends: [] });

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
