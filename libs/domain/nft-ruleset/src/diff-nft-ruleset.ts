import { NFT_FAMILIES, type NftChain, type NftFamily, type NftRule, type NftRuleset, type NftSet, type NftTable } from './nft-ruleset.js';
import { renderHook, renderRule, renderSetType } from './render-nft-ruleset.js';
import { diffSetElements } from './set-elements.js';
import { SET_LAYOUTS } from './set-layout.js';

/** One step of a change to our table of a family. A list of them is one transaction, valid from its first step to its last. */
export type NftOperation = { readonly family: NftFamily } & (
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
  | { readonly op: 'delete-elements'; readonly set: NftSet }
);

/** What the kernel holds of ours: per family a table, `none`, or undefined where that is not known. */
export type NftTablesInForce = Readonly<Record<NftFamily, NftTable | 'none' | undefined>>;

/** A ruleset as what the kernel holds once it is applied. */
export function tablesInForce({ tables }: Pick<NftRuleset, 'tables'>): NftTablesInForce {
  const of = (family: NftFamily): NftTable | 'none' => tables.find((table) => table.family === family) ?? 'none';
  return { ip: of('ip'), ip6: of('ip6') };
}

/** Both tables as nobody knows them: what is made of these is made whatever the kernel holds. */
export const UNKNOWN_TABLES: NftTablesInForce = { ip: undefined, ip6: undefined };

/**
 * The steps from the tables in force to others; none where they are equal. Where a table is not known the steps make exactly
 * the new one of whatever the kernel holds, still in one transaction.
 *
 * Order within a table: elements go before what they point to, names come before what uses them, and the other way round at
 * the end. Shares are filled before a verdict leads to them, so that a transaction that is too large for a kernel's socket
 * may be split ({@link splitNftOperations}). An object whose declaration changed cannot be altered in place; where there is
 * one, the whole table is replaced.
 */
export function diffNftRuleset(before: NftTablesInForce, after: Pick<NftRuleset, 'tables'>): readonly NftOperation[] {
  const wanted = tablesInForce(after);
  return NFT_FAMILIES.flatMap((family) => diffTable(family, before[family], wanted[family]));
}

type InTable<T = NftOperation> = T extends NftOperation ? Omit<T, 'family'> : never;

function diffTable(family: NftFamily, before: NftTable | 'none' | undefined, after: NftTable | 'none' | undefined): readonly NftOperation[] {
  if (before === after) return [];
  return steps(before, after).map((step) => ({ family, ...step }));
}

function steps(before: NftTable | 'none' | undefined, after: NftTable | 'none' | undefined): readonly InTable[] {
  // "add" of an existing table is no error, so these work from any state.
  if (after === 'none' || after === undefined) return before === undefined ? [{ op: 'add-table' }, { op: 'delete-table' }] : [{ op: 'delete-table' }];
  if (before === 'none') return [{ op: 'add-table' }, ...fillTable(after)];
  return (before === undefined ? undefined : changeTable(before, after)) ?? [{ op: 'add-table' }, { op: 'delete-table' }, { op: 'add-table' }, ...fillTable(after)];
}

// Undefined where a declaration changed.
function changeTable(before: NftTable, after: NftTable): readonly InTable[] | undefined {
  const sets = pairUp(before.sets, after.sets);
  const chains = pairUp(before.chains, after.chains);
  const { family } = after;
  if (sets.changed.some(([old, now]) => isRedeclaredSet(family, old, now)) || chains.changed.some(([old, now]) => isRehooked(old, now))) return undefined;
  const rewritten = chains.changed.filter(([old, now]) => old.rules !== now.rules && renderRules(family, old) !== renderRules(family, now)).map(([, now]) => now);
  const elements = sets.changed.map(([old, now]) => diffSetElements(old, now)).sort((a, b) => elementOrder(a.come) - elementOrder(b.come));
  return [
    ...after.counters.filter((name) => !before.counters.includes(name)).map((name): InTable => ({ op: 'add-counter', name })),
    ...sets.come.flatMap(addSet),
    ...chains.come.map((chain): InTable => ({ op: 'add-chain', chain })),
    ...chains.come.flatMap(addRules),
    ...rewritten.flatMap((chain): InTable[] => [{ op: 'flush-chain', chain }, ...addRules(chain)]),
    ...elements.flatMap(({ gone, come }) => [...elementStep('delete-elements', gone), ...elementStep('add-elements', come)]),
    ...sets.come.filter(isDispatch).flatMap((set) => elementStep('add-elements', set)),
    ...sets.gone.filter(isDispatch).flatMap((set) => elementStep('delete-elements', set)),
    ...chains.gone.map((chain): InTable => ({ op: 'flush-chain', chain })),
    ...chains.gone.map((chain): InTable => ({ op: 'delete-chain', chain })),
    ...sets.gone.map((set): InTable => ({ op: 'delete-set', set })),
    ...before.counters.filter((name) => !after.counters.includes(name)).map((name): InTable => ({ op: 'delete-counter', name })),
  ];
}

const isDispatch = (set: NftSet): boolean => SET_LAYOUTS[set.kind].data === 'verdict';

// Shares are filled before a verdict leads to them; verdicts come last.
const elementOrder = (set: NftSet): number => (isDispatch(set) ? 2 : SET_LAYOUTS[set.kind].isInterval ? 0 : 1);

const fillTable = (after: NftTable): readonly InTable[] => [
  ...after.counters.map((name): InTable => ({ op: 'add-counter', name })),
  ...after.sets.flatMap(addSet),
  ...after.chains.map((chain): InTable => ({ op: 'add-chain', chain })),
  ...after.chains.flatMap(addRules),
  ...after.sets.filter(isDispatch).flatMap((set) => elementStep('add-elements', set)),
];

// A set is filled where it is declared: the kernel finds a set by going through all that there are. Verdicts wait for chains.
const addSet = (set: NftSet): InTable[] => [{ op: 'add-set', set }, ...(isDispatch(set) ? [] : elementStep('add-elements', set))];

const addRules = (chain: NftChain): InTable[] => chain.rules.map((rule) => ({ op: 'add-rule', chain: chain.name, rule }));

const elementStep = (op: 'add-elements' | 'delete-elements', set: NftSet): InTable[] => (set.elements.length === 0 ? [] : [{ op, set }]);

const renderRules = (family: NftFamily, chain: NftChain): string => chain.rules.map((rule) => renderRule(family, rule)).join('\n');

const isRedeclaredSet = (family: NftFamily, old: NftSet, now: NftSet): boolean => old.kind !== now.kind || renderSetType(family, old).join() !== renderSetType(family, now).join();

const isRehooked = (old: NftChain, now: NftChain): boolean => old.hook !== now.hook && renderHook(old).join() !== renderHook(now).join();

interface Pairing<T> {
  readonly gone: readonly T[];
  /** Those of both that are not the very same object. */
  readonly changed: readonly (readonly [T, T])[];
  readonly come: readonly T[];
}

function pairUp<T extends { readonly name: string }>(before: readonly T[], after: readonly T[]): Pairing<T> {
  if (before === after) return { gone: [], changed: [], come: [] };
  const changed = changedInPlace(before, after);
  if (changed !== undefined) return { gone: [], changed, come: [] };
  const old = new Map(before.map((item) => [item.name, item]));
  const pairs: (readonly [T, T])[] = [];
  const come: T[] = [];
  for (const now of after) {
    const was = old.get(now.name);
    if (was === undefined) come.push(now);
    else if (was !== now) pairs.push([was, now]);
    old.delete(now.name);
  }
  return { gone: [...old.values()], changed: pairs, come };
}

// The usual change: the same names in the same places, and all but a few the same objects.
function changedInPlace<T extends { readonly name: string }>(before: readonly T[], after: readonly T[]): readonly (readonly [T, T])[] | undefined {
  if (before.length !== after.length) return undefined;
  const changed: (readonly [T, T])[] = [];
  for (let index = 0; index < after.length; index += 1) {
    const old = before[index];
    const now = after[index];
    if (old === now) continue;
    if (old === undefined || now === undefined || old.name !== now.name) return undefined;
    changed.push([old, now]);
  }
  return changed;
}
