import { byKey, type ClusterSelector, type MemberCluster, type SamenessPolicy } from '#domain/fleet';

/** Whether a selector selects a cluster: by name, by all of its labels, or because it selects every cluster. */
function isSelected(selector: ClusterSelector, cluster: MemberCluster): boolean {
  if (selector.all || selector.names.includes(cluster.id)) return true;
  const labels = Object.entries(selector.matchLabels);
  return labels.length > 0 && labels.every(([key, value]) => cluster.labels[key] === value);
}

/** Whether one of a policy's names or `prefix*` patterns covers a namespace. */
function isCovered(policy: SamenessPolicy, namespace: string): boolean {
  return policy.namespaces.some((pattern) => (pattern.endsWith('*') ? namespace.startsWith(pattern.slice(0, -1)) : namespace === pattern));
}

/** The policies that cover a namespace, sorted by name. */
export function coveringPolicies(policies: readonly SamenessPolicy[], namespace: string): readonly SamenessPolicy[] {
  return policies.filter((policy) => isCovered(policy, namespace)).sort(byKey((policy) => policy.name));
}

/** Whether one of these policies lets the exporter's namespace be the same as the importer's. */
export function isSame(covering: readonly SamenessPolicy[], exporter: MemberCluster, importer: MemberCluster): boolean {
  return covering.some((policy) => isSelected(policy.mayExport, exporter) && isSelected(policy.mayImport, importer));
}

/** Whether a cluster may export or import a namespace, and the sentence that says why not. */
export interface Judgement {
  readonly mayExport: boolean;
  readonly mayImport: boolean;
  /** One sentence for each thing refused, naming the policies or saying that none covers the namespace. */
  readonly refusals: readonly string[];
}

/** Judges what the policies let a cluster do with a namespace. Nothing is the same until a policy says so. */
export function judgeSameness(policies: readonly SamenessPolicy[], namespace: string, cluster: MemberCluster): Judgement {
  const covering = coveringPolicies(policies, namespace);
  if (covering.length === 0) {
    return { mayExport: false, mayImport: false, refusals: [`No sameness policy covers namespace "${namespace}", so it means this cluster's own namespace only; name it in a policy to share it.`] };
  }
  const mayExport = covering.some((policy) => isSelected(policy.mayExport, cluster));
  const mayImport = covering.some((policy) => isSelected(policy.mayImport, cluster));
  const refusals = [...(mayExport ? [] : [refusalText(covering, namespace, cluster, 'export')]), ...(mayImport ? [] : [refusalText(covering, namespace, cluster, 'import')])];
  return { mayExport, mayImport, refusals };
}

function refusalText(covering: readonly SamenessPolicy[], namespace: string, cluster: MemberCluster, verb: 'export' | 'import'): string {
  const names = covering.map((policy) => `"${policy.name}"`).join(', ');
  const [noun, cover, select, field] = covering.length === 1 ? ['policy', 'covers', 'does not', 'its'] : ['policies', 'cover', 'do not', 'their'];
  const list = verb === 'export' ? 'mayExport' : 'mayImport';
  return `Sameness ${noun} ${names} ${cover} namespace "${namespace}" but ${select} let cluster "${cluster.id}" ${verb} it; add the cluster to ${field} ${list} to allow it.`;
}
