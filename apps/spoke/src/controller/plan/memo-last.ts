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

/** A pure function that is given its own last result to save work by; the same argument gives the same object again. */
export function memoFold<A, R>(compute: (value: A, previous?: R) => R): (value: A) => R {
  let last: { readonly value: A; readonly result: R } | undefined;
  return (value) => {
    if (last === undefined || !Object.is(last.value, value)) last = { value, result: compute(value, last?.result) };
    return last.result;
  };
}
