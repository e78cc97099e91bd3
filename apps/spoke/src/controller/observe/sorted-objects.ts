/** Objects by key, read as a list in the order of their keys; what a reading costs is a copy, and a search for each change since the last. */
export class SortedObjects<T> {
  readonly #objects = new Map<string, T>();
  readonly #touched = new Set<string>();
  #keys: readonly string[] = [];
  #values: readonly T[] = [];

  get size(): number {
    return this.#objects.size;
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  set(key: string, value: T): void {
    this.#objects.set(key, value);
    this.#touched.add(key);
  }

  /** Whether there was such an object. */
  delete(key: string): boolean {
    if (!this.#objects.delete(key)) return false;
    this.#touched.add(key);
    return true;
  }

  /** All objects in the order of their keys; the same array until something changes. */
  values(): readonly T[] {
    if (this.#touched.size > 0) this.#merge([...this.#touched].sort());
    this.#touched.clear();
    return this.#values;
  }

  // Both lists are in order: what lies between two touched keys is copied as it is.
  #merge(touched: readonly string[]): void {
    const [keys, values]: [string[][], T[][]] = [[], []];
    let from = 0;
    for (const key of touched) {
      const at = lowerBound(this.#keys, key, from);
      keys.push(this.#keys.slice(from, at));
      values.push(this.#values.slice(from, at));
      const value = this.#objects.get(key);
      if (value !== undefined) {
        keys.push([key]);
        values.push([value]);
      }
      from = this.#keys[at] === key ? at + 1 : at;
    }
    this.#keys = keys.flat().concat(this.#keys.slice(from));
    this.#values = values.flat().concat(this.#values.slice(from));
  }
}

/** Where a key is in a sorted list from some place on, or would go. */
function lowerBound(keys: readonly string[], key: string, start: number): number {
  let [from, to] = [start, keys.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((keys[middle] ?? '') < key) from = middle + 1;
    else to = middle;
  }
  return from;
}
