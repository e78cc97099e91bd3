import type { BackendName, ClusterId, Freeze } from '#domain/fleet';

type Column = { readonly reason: string; readonly sinceMs: number; readonly capacities: Record<string, Record<string, number>> };

/** A freeze as JSON. */
export function renderFreeze(freeze: Freeze): Column {
  const capacities = Object.fromEntries([...freeze.capacities].map(([name, byCluster]) => [name, Object.fromEntries(byCluster)]));
  return { reason: freeze.reason, sinceMs: freeze.sinceMs, capacities };
}

/** The freeze in a column; undefined for SQL NULL. */
export function parseFreeze(column: unknown): Freeze | undefined {
  if (column === null || column === undefined) return undefined;
  const { reason, sinceMs, capacities } = column as Column;
  const entries = Object.entries(capacities).map(([name, byCluster]) => [name as BackendName, new Map(Object.entries(byCluster) as [ClusterId, number][])] as const);
  return { reason, sinceMs, capacities: new Map(entries) };
}
