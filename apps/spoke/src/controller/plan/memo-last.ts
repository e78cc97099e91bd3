import { isDeepStrictEqual } from 'node:util';

/** A pure function that remembers its last result: equal arguments, by identity, give the same object again. */
export function memoLast<A extends readonly unknown[], R>(compute: (...args: A) => R): (...args: A) => R {
  let last: { readonly args: A; readonly result: R } | undefined;
  return (...args) => {
    if (last !== undefined && last.args.every((arg, at) => Object.is(arg, args[at]))) return last.result;
    last = { args, result: compute(...args) };
    return last.result;
  };
}

/** Keeps the older of two equal values, so that what depends on it need not be computed again. */
export function memoEqual<T>(isEqual: (a: T, b: T) => boolean): (value: T) => T {
  let last: { readonly value: T } | undefined;
  return (value) => {
    if (last === undefined || !isEqual(last.value, value)) last = { value };
    return last.value;
  };
}

/** Keeps the older of two objects whose fields are all identical. */
export function memoFields<T extends object>(): (value: T) => T {
  return memoEqual((a: T, b: T) => (Object.keys(b) as (keyof T)[]).every((key) => Object.is(a[key], b[key])));
}

/** Keeps, of a list of named values, the older object of each that did not change: what is known of it by identity still holds. */
export function memoEach<T extends object>(nameOf: (value: T) => string): (values: readonly T[]) => readonly T[] {
  let last: { readonly values: readonly T[]; readonly kept: readonly T[] } = { values: [], kept: [] };
  return (values) => {
    if (values === last.values) return last.kept;
    const before = new Map(last.kept.map((value) => [nameOf(value), value]));
    const kept = values.map((value) => {
      const old = before.get(nameOf(value));
      return old !== undefined && isDeepStrictEqual(old, value) ? old : value;
    });
    last = { values, kept };
    return kept;
  };
}
