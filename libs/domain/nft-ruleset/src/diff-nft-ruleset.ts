import type { NftChain, NftRule, NftRuleset, NftSet } from './nft-ruleset.js';
import { renderHook, renderRule, renderSetType } from './render-nft-ruleset.js';
import { diffSetElements } from './set-elements.js';

/** One step of a change to the table. A list of them is one transaction, valid from its first step to its last. */
export type NftOperation =
  | { readonly op: 'add-table' }
  | { readonly op: 'delete-table' }
  | { readonly op: 'add-counter'; readonly name: string }
  | { readonly op: 'delete-counter'; readonly name: string }
  | { readonly op: 'add-set'; readonly set: NftSet }
  | { readonly op: 'delete-set'; readonly set: NftSet }
  | { readonly op: 'add-chain'; readonly chain: NftChain }
  | { readonly op: 'flush-chain'; readonly chain: NftChain }
  | { readonly op: 'delete-chain'; readonly chain: NftChain }
  | { readonly op: 'add-rule'; readonly chain: string; readonly rule: NftRule }
  /** `set` holds the elements to add or delete, not the whole content. */
  | { readonly op: 'add-elements'; readonly set: NftSet }
  | { readonly op: 'delete-elements'; readonly set: NftSet };

/**
 * The steps from one table to another; none where they are equal. Without a `before` the steps make exactly `after` of
 * whatever the kernel holds, a table or none, still in one transaction.
 *
 * Order: elements go before what they point to, names come before what uses them, and the other way round at the end.
 * Shares are filled before a verdict leads to them, so that a transaction that is too large for a kernel's socket may be
 * split ({@link splitNftOperations}). An object whose declaration changed cannot be altered in place; where there is one,
 * the whole table is replaced.
 */
export function diffNftRuleset(before: NftRuleset | undefined, after: NftRuleset): readonly NftOperation[] {
  if (before === undefined || isRedeclared(before, after)) return replaceTable(after);
  const sets = pairUp(before.sets, after.sets);
  const chains = pairUp(before.chains, after.chains);
  const counters = { gone: before.counters.filter((name) => !after.counters.includes(name)), come: after.counters.filter((name) => !before.counters.includes(name)) };
  const rewritten = chains.kept.filter(([old, now]) => renderRules(old) !== renderRules(now)).map(([, now]) => now);
  const elements = [...sets.come.map((set) => ({ gone: undefined, come: set })), ...sets.kept.map(([old, now]) => diffSetElements(old, now))];
  return [
    ...counters.come.map((name): NftOperation => ({ op: 'add-counter', name })),
    ...sets.come.map((set): NftOperation => ({ op: 'add-set', set })),
    ...chains.come.map((chain): NftOperation => ({ op: 'add-chain', chain })),
    ...chains.come.flatMap(addRules),
    ...rewritten.flatMap((chain): NftOperation[] => [{ op: 'flush-chain', chain }, ...addRules(chain)]),
    ...elements
      .sort((a, b) => ELEMENT_ORDER[a.come.kind] - ELEMENT_ORDER[b.come.kind])
      .flatMap(({ gone, come }) => [...(gone === undefined ? [] : elementStep('delete-elements', gone)), ...elementStep('add-elements', come)]),
    ...sets.gone.filter((set) => set.kind === 'verdicts').flatMap((set) => elementStep('delete-elements', set)),
    ...chains.gone.map((chain): NftOperation => ({ op: 'flush-chain', chain })),
    ...chains.gone.map((chain): NftOperation => ({ op: 'delete-chain', chain })),
    ...sets.gone.map((set): NftOperation => ({ op: 'delete-set', set })),
    ...counters.gone.map((name): NftOperation => ({ op: 'delete-counter', name })),
  ];
}

// Shares are filled before a verdict leads to them.
const ELEMENT_ORDER: Readonly<Record<NftSet['kind'], number>> = { shares: 0, pairs: 1, addresses: 2, verdicts: 3 };

// "add" of an existing table is no error, so the three first steps work from any state.
function replaceTable(after: NftRuleset): readonly NftOperation[] {
  return [
    { op: 'add-table' },
    { op: 'delete-table' },
    { op: 'add-table' },
    ...after.counters.map((name): NftOperation => ({ op: 'add-counter', name })),
    ...after.sets.map((set): NftOperation => ({ op: 'add-set', set })),
    ...after.chains.map((chain): NftOperation => ({ op: 'add-chain', chain })),
    ...after.chains.flatMap(addRules),
    ...[...after.sets].sort((a, b) => ELEMENT_ORDER[a.kind] - ELEMENT_ORDER[b.kind]).flatMap((set) => elementStep('add-elements', set)),
  ];
}

const addRules = (chain: NftChain): NftOperation[] => chain.rules.map((rule) => ({ op: 'add-rule', chain: chain.name, rule }));

const elementStep = (op: 'add-elements' | 'delete-elements', set: NftSet): NftOperation[] => (set.elements.length === 0 ? [] : [{ op, set }]);

const renderRules = (chain: NftChain): string => chain.rules.map(renderRule).join('\n');

function isRedeclared(before: NftRuleset, after: NftRuleset): boolean {
  const sets = pairUp(before.sets, after.sets).kept.some(([old, now]) => renderSetType(old).join() !== renderSetType(now).join());
  return sets || pairUp(before.chains, after.chains).kept.some(([old, now]) => renderHook(old).join() !== renderHook(now).join());
}

interface Pairing<T> {
  readonly gone: readonly T[];
  readonly kept: readonly (readonly [T, T])[];
  readonly come: readonly T[];
}

function pairUp<T extends { readonly name: string }>(before: readonly T[], after: readonly T[]): Pairing<T> {
  const old = new Map(before.map((item) => [item.name, item]));
  const names = new Set(after.map((item) => item.name));
  const kept = after.flatMap((now): (readonly [T, T])[] => {
    const was = old.get(now.name);
    return was === undefined ? [] : [[was, now]];
  });
  return { gone: before.filter((item) => !names.has(item.name)), kept, come: after.filter((item) => !old.has(item.name)) };
}
