/** Orders by a text key, by code unit, the same on every machine (no locale). */
export function byKey<T>(keyOf: (value: T) => string): (a: T, b: T) => number {
  return (a, b) => {
    const keyA = keyOf(a);
    const keyB = keyOf(b);
    if (keyA === keyB) return 0;
    return keyA < keyB ? -1 : 1;
  };
}
