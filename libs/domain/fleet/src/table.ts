import { isSameItems } from './same-data.js';

/** Where values are looked up by name; every map by text is one. */
export interface Lookup<V> {
  get(key: string): V | undefined;
}

/** Named values in the order of their names. One that is made from an earlier one shares with it all that did not change. */
export interface Table<V> extends Lookup<V> {
  readonly keys: readonly string[];
  readonly values: readonly V[];
  /** Where each key is in the lists. */
  readonly positions: ReadonlyMap<string, number>;
}

/** A table of the items of a list. */
export interface ListTable<V> extends Table<V> {
  readonly list: readonly V[];
}

/** A table with the keys of another. */
export const withValues = <V>({ keys, positions }: Omit<Table<unknown>, 'values' | 'get'>, values: readonly V[]): Table<V> => ({ keys, positions, values, get: (key) => valueAt(values, positions.get(key)) });

/** A table of a list; of two items with one key the later counts. The result depends on the list alone, `previous` only saves work. */
export function tableOf<V>(list: readonly V[], keyOf: (value: V) => string, previous?: ListTable<V>): ListTable<V> {
  if (previous !== undefined && isSameItems(previous.list, list)) return previous;
  const keys = keysOf(list, keyOf, previous);
  if (keys === previous?.keys) return { ...withValues(previous, list), list };
  if (isAscending(keys)) return { ...withValues({ keys, positions: positionsOf(keys) }, list), list };
  const sorted = [...new Map(list.map((value, at) => [keys[at] ?? '', value]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const sortedKeys = sorted.map(([key]) => key);
  return { ...withValues({ keys: sortedKeys, positions: positionsOf(sortedKeys) }, sorted.map(([, value]) => value)), list };
}

/** Where two lists differ: all before `from` is the same in both, and all from `beforeTo` and `afterTo` on. */
interface DifferingRange {
  readonly from: number;
  readonly beforeTo: number;
  readonly afterTo: number;
}

/** Compares lists by identity of their items. Most changes are one place in a long list. */
function differingRange(before: readonly unknown[], after: readonly unknown[]): DifferingRange {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let [beforeTo, afterTo] = [before.length, after.length];
  while (beforeTo > from && afterTo > from && before[beforeTo - 1] === after[afterTo - 1]) [beforeTo, afterTo] = [beforeTo - 1, afterTo - 1];
  return { from, beforeTo, afterTo };
}

/** What is in one of two lists alone, by identity. */
export function differingItems<V>(before: readonly V[], after: readonly V[]): { readonly gone: readonly V[]; readonly come: readonly V[] } {
  const { from, beforeTo, afterTo } = differingRange(before, after);
  const [old, fresh] = [new Set(before.slice(from, beforeTo)), new Set(after.slice(from, afterTo))];
  return { gone: [...old].filter((item) => !fresh.has(item)), come: [...fresh].filter((item) => !old.has(item)) };
}

// Keys of items that are where they were need not be made again.
function keysOf<V>(list: readonly V[], keyOf: (value: V) => string, previous: ListTable<V> | undefined): readonly string[] {
  // The keys of an unsorted list are not in the order of its items.
  if (previous === undefined || previous.values !== previous.list) return list.map(keyOf);
  const { from, beforeTo, afterTo } = differingRange(previous.list, list);
  const fresh = list.slice(from, afterTo).map(keyOf);
  if (isSameItems(fresh, previous.keys.slice(from, beforeTo))) return previous.keys;
  return [...previous.keys.slice(0, from), ...fresh, ...previous.keys.slice(beforeTo)];
}

const positionsOf = (keys: readonly string[]): ReadonlyMap<string, number> => new Map(keys.map((key, at) => [key, at]));
const isAscending = (keys: readonly string[]): boolean => keys.every((key, at) => at === 0 || (keys[at - 1] ?? '') < key);
const valueAt = <V>(values: readonly V[], at: number | undefined): V | undefined => (at === undefined ? undefined : values[at]);
