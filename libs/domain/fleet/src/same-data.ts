/** Whether two plain values say the same: key order and fields that are undefined do not matter, list order does. Cheap where both are one object. */
export function isSameData(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return false;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSameData(item, other[at]));
  if (Array.isArray(other)) return false;
  // Every field of the one, then those that only the other has.
  return Object.keys(one).every((key) => isSameData(one[key], other[key])) && Object.keys(other).every((key) => one[key] !== undefined || other[key] === undefined);
}

/** Whether two lists hold the very same objects in the same order. */
export const isSameItems = (one: readonly unknown[], other: readonly unknown[]): boolean => one === other || (one.length === other.length && one.every((item, at) => item === other[at]));

/**
 * The fresh value, made of the older one's parts wherever they say the same: the older value itself where all of it does.
 * What reads the value by identity then sees only what changed. For plain records and lists.
 */
export function keepSame<T>(before: unknown, fresh: T): T;
export function keepSame(before: unknown, fresh: unknown): unknown {
  if (before === fresh || !isObject(before) || !isObject(fresh)) return fresh;
  if (Array.isArray(fresh)) return Array.isArray(before) ? keepItems(before, fresh) : fresh;
  return Array.isArray(before) ? fresh : keepFields(before, fresh);
}

function keepItems(before: readonly unknown[], fresh: readonly unknown[]): readonly unknown[] {
  const kept = fresh.map((item, at) => keepSame(before[at], item));
  return isSameItems(before, kept) ? before : kept;
}

function keepFields(before: Plain, fresh: Plain): Plain {
  const kept = Object.fromEntries(Object.keys(fresh).map((key) => [key, keepSame(before[key], fresh[key])]));
  const isAll = Object.keys(before).length === Object.keys(kept).length && Object.keys(kept).every((key) => Object.hasOwn(before, key) && before[key] === kept[key]);
  return isAll ? before : kept;
}

type Plain = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Plain => typeof value === 'object' && value !== null;
