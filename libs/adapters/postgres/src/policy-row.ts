import type { ClusterSelector, SamenessPolicy } from '#domain/fleet';

/** A row of sameness_policies as a policy. */
export function toPolicy(row: Readonly<Record<string, unknown>>): SamenessPolicy {
  return {
    name: String(row['name']),
    namespaces: row['namespaces'] as string[],
    mayExport: row['mayExport'] as ClusterSelector,
    mayImport: row['mayImport'] as ClusterSelector,
    owner: String(row['owner']),
  };
}
