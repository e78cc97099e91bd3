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
  if (before === undefined) return replaceTable(after);
  const sets = pairUp(before.sets, after.sets);
  const chains = pairUp(before.chains, after.chains);
  if (isRedeclared(sets, chains)) return replaceTable(after);
  const counters = { gone: before.counters.filter((name) => !after.counters.includes(name)), come: after.counters.filter((name) => !before.counters.includes(name)) };
  const rewritten = chains.kept.filter(([old, now]) => old.rules !== now.rules && renderRules(old) !== renderRules(now)).map(([, now]) => now);
  const elements = sets.kept.filter(([old, now]) => old !== now).map(([old, now]) => diffSetElements(old, now));
  return [
    ...counters.come.map((name): NftOperation => ({ op: 'add-counter', name })),
    ...sets.come.flatMap(addSet),
    ...chains.come.map((chain): NftOperation => ({ op: 'add-chain', chain })),
    ...chains.come.flatMap(addRules),
    ...rewritten.flatMap((chain): NftOperation[] => [{ op: 'flush-chain', chain }, ...addRules(chain)]),
    ...elements
      .sort((a, b) => ELEMENT_ORDER[a.come.kind] - ELEMENT_ORDER[b.come.kind])
      .flatMap(({ gone, come }) => [...elementStep('delete-elements', gone), ...elementStep('add-elements', come)]),
    ...sets.come.filter(isDispatch).flatMap((set) => elementStep('add-elements', set)),
    ...sets.gone.filter(isDispatch).flatMap((set) => elementStep('delete-elements', set)),
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
    ...after.sets.flatMap(addSet),
    ...after.chains.map((chain): NftOperation => ({ op: 'add-chain', chain })),
    ...after.chains.flatMap(addRules),
    ...after.sets.filter(isDispatch).flatMap((set) => elementStep('add-elements', set)),
  ];
}

const isDispatch = (set: NftSet): boolean => set.kind === 'verdicts';

// A set is filled where it is declared: the kernel finds a set by going through all that there are. Verdicts wait for chains.
const addSet = (set: NftSet): NftOperation[] => [{ op: 'add-set', set }, ...(isDispatch(set) ? [] : elementStep('add-elements', set))];

const addRules = (chain: NftChain): NftOperation[] => chain.rules.map((rule) => ({ op: 'add-rule', chain: chain.name, rule }));

const elementStep = (op: 'add-elements' | 'delete-elements', set: NftSet): NftOperation[] => (set.elements.length === 0 ? [] : [{ op, set }]);

const renderRules = (chain: NftChain): string => chain.rules.map(renderRule).join('\n');

function isRedeclared(sets: Pairing<NftSet>, chains: Pairing<NftChain>): boolean {
  return (
    sets.kept.some(([old, now]) => old !== now && renderSetType(old).join() !== renderSetType(now).join()) ||
    chains.kept.some(([old, now]) => old.hook !== now.hook && renderHook(old).join() !== renderHook(now).join())
  );
}

interface Pairing<T> {
  readonly gone: readonly T[];
  readonly kept: readonly (readonly [T, T])[];
  readonly come: readonly T[];
}

function pairUp<T extends { readonly name: string }>(before: readonly T[], after: readonly T[]): Pairing<T> {
  const zipped = after.map((now, index): readonly [T | undefined, T] => [before[index], now]);
  if (before.length === after.length && zipped.every(hasSameName)) return { gone: [], kept: zipped, come: [] };
  const old = new Map(before.map((item) => [item.name, item]));
  const kept: (readonly [T, T])[] = [];
  const come: T[] = [];
  for (const now of after) {
    const was = old.get(now.name);
    if (was === undefined) come.push(now);
    else kept.push([was, now]);
    old.delete(now.name);
  }
  return { gone: [...old.values()], kept, come };
}

const hasSameName = <T extends { readonly name: string }>(pair: readonly [T | undefined, T]): pair is readonly [T, T] => pair[0]?.name === pair[1].name;
