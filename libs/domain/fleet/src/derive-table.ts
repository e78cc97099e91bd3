import { isSameItems } from './same-data.js';
import { withValues, type Lookup, type Table } from './table.js';

/** Look-ups by what they hold. */
export type Lookups<T> = { readonly [K in keyof T]: Lookup<T[K]> };

/** A table made item by item from another, and what each item was made from. */
export interface DerivedTable<A, V, T> extends Table<V> {
  readonly sources: Table<A>;
  readonly lookups: Lookups<T>;
  /** In the order of the values. */
  readonly reads: readonly (readonly Read[])[];
}

/** One look-up that the making of a value has made. */
interface Read {
  readonly from: PropertyKey;
  readonly key: string;
  readonly value: unknown;
}

/** Makes the value for a source. It may read the given look-ups and nothing else that changes; the older value may serve to keep what is the same. */
export type MakeValue<A, V, T> = (source: A, lookups: Lookups<T>, before: V | undefined) => V;

/**
 * Makes a value for each source. Every look-up is recorded, so that a value is made again only where its source, or anything
 * that it was made from, is another object now; what did not change costs a comparison. The result depends on `sources` and
 * `lookups` alone as long as `make` does, `previous` only saves work.
 */
export function deriveTable<A, V, T>(sources: Table<A>, lookups: Lookups<T>, make: MakeValue<A, V, T>, previous?: DerivedTable<A, V, T>): DerivedTable<A, V, T> {
  if (previous === undefined) return { ...makeAll(sources, lookups, make, () => undefined), sources, lookups };
  const isOther = otherLookups(lookups, previous.lookups);
  if (previous.sources === sources && isOther.size === 0 && !isOutdated(previous)) return previous;
  const isAsRead = ({ from, key, value }: Read): boolean => !isOther.has(from) || lookups[from as keyof T].get(key) === value;
  const isAligned = previous.keys === sources.keys;
  const made = makeAll(sources, lookups, make, (index, source) => {
    const at = isAligned ? index : previous.positions.get(sources.keys[index] ?? '');
    if (at === undefined) return undefined;
    const reads = previous.sources.values[at] === source ? previous.reads[at] : undefined;
    return { value: previous.values[at] as V, reads: reads?.every(isAsRead) === true ? reads : undefined };
  });
  return { ...made, ...withValues(sources, isAligned && isSameItems(previous.values, made.values) ? previous.values : made.values), sources, lookups };
}

/** What is known of a source: its value of before, and what that was made from where it is still so. */
interface Known<V> {
  readonly value: V;
  readonly reads: readonly Read[] | undefined;
}

function makeAll<A, V, T>(sources: Table<A>, lookups: Lookups<T>, make: MakeValue<A, V, T>, known: (index: number, source: A) => Known<V> | undefined): Table<V> & Pick<DerivedTable<A, V, T>, 'reads'> {
  const recorder = recordReads(lookups);
  const values: V[] = [];
  const reads: (readonly Read[])[] = [];
  for (const [index, source] of sources.values.entries()) {
    const before = known(index, source);
    const isCurrent = before?.reads !== undefined;
    values.push(isCurrent ? before.value : make(source, recorder.lookups, before?.value));
    reads.push(isCurrent ? before.reads : recorder.take());
  }
  return { ...withValues(sources, values), reads };
}

/** The same table with every value to be made again: what is given to make them differs in more than sources and look-ups. The older values still serve to keep what is the same. */
export const outdated = <A, V, T>(table: DerivedTable<A, V, T> | undefined): DerivedTable<A, V, T> | undefined => table && { ...table, reads: [] };

const isOutdated = (table: { readonly reads: readonly unknown[]; readonly values: readonly unknown[] }): boolean => table.reads.length < table.values.length;

function otherLookups<T>(lookups: Lookups<T>, previous: Lookups<T> | undefined): ReadonlySet<PropertyKey> {
  return new Set((Object.keys(lookups) as (keyof T)[]).filter((name) => lookups[name] !== previous?.[name]));
}

interface Recorder<T> {
  readonly lookups: Lookups<T>;
  /** What was read since the last call. */
  readonly take: () => readonly Read[];
}

function recordReads<T>(lookups: Lookups<T>): Recorder<T> {
  let reads: Read[] = [];
  const recorded = (from: keyof T): Lookup<unknown> => ({
    get: (key) => {
      const value = lookups[from].get(key);
      reads.push({ from, key, value });
      return value;
    },
  });
  return {
    lookups: Object.fromEntries((Object.keys(lookups) as (keyof T)[]).map((from) => [from, recorded(from)])) as Lookups<T>,
    take: () => {
      const taken = reads;
      reads = [];
      return taken;
    },
  };
}
