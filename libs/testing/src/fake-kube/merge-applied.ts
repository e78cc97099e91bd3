type Plain = Readonly<Record<string, unknown>>;

const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * What an object becomes when a manager applies these fields: they are set, and what the manager applied before but does not
 * any more goes, unless another manager applied it too. Lists of named things merge by their key; other lists are one value.
 */
export function mergeApplied(parts: { readonly current: Plain; readonly applied: Plain; readonly before: Plain | undefined; readonly others: readonly Plain[] }): Plain {
  const kept = parts.before === undefined ? parts.current : (withoutDropped(parts.current, parts.before, parts.applied, parts.others) as Plain);
  return merge(kept, parts.applied) as Plain;
}

function merge(current: unknown, applied: unknown): unknown {
  if (isPlain(current) && isPlain(applied)) {
    const result: Record<string, unknown> = { ...current };
    for (const [field, value] of Object.entries(applied)) result[field] = merge(current[field], value);
    return result;
  }
  if (!Array.isArray(current) || !Array.isArray(applied) || !isKeyed(current) || !isKeyed(applied)) return structuredClone(applied);
  const rest = current.filter((item) => !applied.some((other) => keyOf(other) === keyOf(item)));
  return [...applied.map((item: unknown) => merge(current.find((other) => keyOf(other) === keyOf(item)), item)), ...(rest as unknown[])];
}

// What `before` set and neither `applied` nor another manager sets goes.
function withoutDropped(current: unknown, before: unknown, applied: unknown, others: readonly unknown[]): unknown {
  if (isPlain(current) && isPlain(before)) {
    const kept = Object.entries(current).flatMap(([field, value]) => {
      const left = fieldLeft(value, before[field], { isOurs: field in before, applied: fieldOf(applied, field), claims: others.filter((other) => isPlain(other) && field in other).map((other) => fieldOf(other, field)) });
      return left === undefined ? [] : [[field, left] as const];
    });
    return Object.fromEntries(kept);
  }
  if (!Array.isArray(current) || !Array.isArray(before) || !isKeyed(current)) return current;
  const has = (list: unknown, key: string): boolean => Array.isArray(list) && list.some((item) => keyOf(item) === key);
  return current.filter((item) => !has(before, keyOf(item)) || has(applied, keyOf(item)) || others.some((other) => has(other, keyOf(item))));
}

function fieldLeft(value: unknown, before: unknown, claim: { readonly isOurs: boolean; readonly applied: unknown; readonly claims: readonly unknown[] }): unknown {
  if (!claim.isOurs) return value;
  if (claim.applied !== undefined || claim.claims.length > 0) return withoutDropped(value, before, claim.applied, claim.claims);
  if (!isPlain(value) || !isPlain(before)) return undefined;
  // A map that we no longer set keeps what others put into it.
  const rest = withoutDropped(value, before, {}, []) as Plain;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

const fieldOf = (value: unknown, field: string): unknown => (isPlain(value) ? value[field] : undefined);

const isKeyed = (list: readonly unknown[]): boolean => list.every((item) => keyOf(item) !== '');

// The merge keys of the lists that we apply: containers, volumes, env (name), conditions (type), ports (port and protocol).
function keyOf(item: unknown): string {
  if (!isPlain(item)) return '';
  const key = item['name'] ?? item['type'] ?? item['containerPort'] ?? item['port'];
  const protocol = typeof item['protocol'] === 'string' ? item['protocol'] : '';
  return typeof key === 'string' || typeof key === 'number' ? `${key}/${protocol}` : '';
}
