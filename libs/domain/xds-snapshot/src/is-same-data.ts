/** Whether two plain values (records, arrays, texts, numbers, undefined) say the same. Cheap where both are one object. */
export function isSameData(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, index) => isSameData(item, b[index]));
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => isSameData(fieldOf(a, key), fieldOf(b, key)));
}

const fieldOf = (value: object, key: string): unknown => (value as Readonly<Record<string, unknown>>)[key];
