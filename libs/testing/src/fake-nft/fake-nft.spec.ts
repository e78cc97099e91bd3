import { describe, expect, it } from '@jest/globals';

import { buildNftRuleset, diffNftRuleset, UNKNOWN_TABLES } from '#domain/nft-ruleset';

import { FakeNft } from './fake-nft.js';
import { nftConformance } from './nft.conformance.js';
import { runOperations, SimulatedRefusal } from './simulated-table.js';

nftConformance('the fake', async () => {
  const nft = new FakeNft();
  return Promise.resolve({
    nft,
    reopen: () => Promise.resolve(nft.reopen()),
    kernelProblems: (ruleset) => Promise.resolve(nft.table === ruleset.text ? [] : [nft.table]),
    hasTable: () => Promise.resolve(nft.table !== ''),
    flushRuleset: () => Promise.resolve(nft.flushRuleset()),
    end: () => nft.close(),
  });
});

describe('FakeNft', () => {
  it('throws what the test planted, once, and keeps the table', async () => {
    const nft = new FakeNft();
    const ruleset = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });
    await nft.apply(ruleset);
    nft.failNext = new Error('planted');
    await expect(nft.apply(ruleset)).rejects.toThrow('planted');
    expect(nft.table).toBe(ruleset.text);
    await expect(nft.apply(ruleset)).resolves.toMatchObject({ operations: 0 });
  });
});

describe('runOperations', () => {
  const ruleset = buildNftRuleset({ frontends: [], backends: [], gatewayPorts: [] });
  const vips = { kind: 'addresses' as const, name: 'vips', elements: ['172.30.0.5'] };
  it.each([
    { name: 'an element twice', operations: [{ op: 'add-elements' as const, family: 'ip' as const, set: vips }, { op: 'add-elements' as const, family: 'ip' as const, set: vips }], want: 'EEXIST' },
    { name: 'an element that is not there', operations: [{ op: 'delete-elements' as const, family: 'ip' as const, set: vips }], want: 'ENOENT' },
    { name: 'a set that a rule names', operations: [{ op: 'delete-set' as const, family: 'ip' as const, set: vips }], want: 'EBUSY' },
    { name: 'a table that is not there', operations: [{ op: 'delete-table' as const, family: 'ip' as const }, { op: 'delete-table' as const, family: 'ip' as const }], want: 'ENOENT' },
  ])('refuses $name with $want', ({ operations, want }) => {
    const table = runOperations([], diffNftRuleset(UNKNOWN_TABLES, ruleset));
    expect(() => runOperations(table, operations)).toThrow(SimulatedRefusal);
    expect(() => runOperations(table, operations)).toThrow(want);
  });
});
