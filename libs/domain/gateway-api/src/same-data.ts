/** Whether two plain values say the same: key order and fields that are undefined do not matter, list order does. */
export function isSameData(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) return isSameList(one, other);
  return isRecord(one) && isRecord(other) && isSameRecord(one, other);
}

function isSameList(one: unknown, other: unknown): boolean {
  return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((value, at) => isSameData(value, other[at]));
}

function isSameRecord(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].every((key) => isSameData(one[key], other[key]));
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
