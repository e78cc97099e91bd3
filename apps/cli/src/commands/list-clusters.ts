import type { Command } from 'commander';

import type { HubClient } from '../hub-client.js';
import { formatAge, printRows, printValue, type Column, type OutputFormat } from '../output.js';
import { CliError, EXIT } from '../exit-codes.js';
import { hubOf, parseOutputFormat, type CommandContext, type HubFlags } from './command-context.js';
import { CLUSTER_QUERY, CLUSTERS_QUERY, type ClusterView } from './fleet-documents.js';

/** Every cluster of the fleet, page by page. */
export async function loadClusters(hub: HubClient): Promise<readonly ClusterView[]> {
  const clusters: ClusterView[] = [];
  let after: string | null = null;
  do {
    const page: ClusterPage = await hub.query<ClusterPage>(CLUSTERS_QUERY, { after });
    clusters.push(...page.clusters.nodes);
    after = page.clusters.pageInfo.hasNextPage ? page.clusters.pageInfo.endCursor : null;
  } while (after !== null);
  return clusters;
}

interface ClusterPage {
  readonly clusters: { readonly nodes: readonly ClusterView[]; readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null } };
}

/** One cluster, or a refusal that names the next step. */
export async function requireCluster(hub: HubClient, name: string): Promise<ClusterView> {
  const { cluster } = await hub.query<{ readonly cluster: ClusterView | null }>(CLUSTER_QUERY, { name });
  if (cluster === null) throw new CliError(EXIT.refused, `no cluster ${name} in this fleet`, 'list them with `spillway clusters`');
  return cluster;
}

/** `spillway clusters [NAME]`. */
export function addClustersCommand(program: Command, context: CommandContext): void {
  program
    .command('clusters')
    .alias('cluster')
    .argument('[name]', 'one cluster, in full')
    .description('list member clusters, freshness first')
    .option('-o, --output <format>', 'table, json or yaml', parseOutputFormat, 'table' as OutputFormat)
    .action(async (name: string | undefined, flags: HubFlags & { readonly output: OutputFormat }, command: Command) => {
      const hub = hubOf(context, command.optsWithGlobals<HubFlags>());
      if (name !== undefined) printValue(context.terminal, flags.output, await requireCluster(hub, name));
      else printRows(context.terminal, flags.output, await loadClusters(hub), columns(context.clock.nowMs()));
    });
}

const columns = (nowMs: number): readonly Column<ClusterView>[] => [
  { heading: 'NAME', cell: ({ name }) => name },
  { heading: 'FRESHNESS', cell: (cluster) => (cluster.removal === null ? cluster.freshness.toLowerCase() : 'leaving') },
  { heading: 'SEEN', cell: ({ observedAt }) => formatAge(observedAt === null ? undefined : Date.parse(observedAt), nowMs) },
  { heading: 'API', cell: (cluster) => conditionCell(cluster, 'ApiReachable') },
  { heading: 'VERSION', cell: ({ kubernetesVersion }) => kubernetesVersion ?? '-' },
  { heading: 'REGION', cell: ({ location }) => location.region || '-' },
  { heading: 'NETWORK', cell: ({ network }) => network },
  { heading: 'NODES', cell: ({ inventory }) => (inventory === null ? '-' : `${inventory.readyNodeCount}/${inventory.nodeCount}`) },
  { heading: 'ACCELERATORS', cell: ({ inventory }) => (inventory?.accelerators ?? []).map(({ product, allocatable }) => `${allocatable}×${product}`).join(', ') || '-' },
];

function conditionCell(cluster: ClusterView, type: string): string {
  const condition = cluster.conditions.find((one) => one.type === type);
  if (condition === undefined) return '-';
  return condition.status === 'TRUE' ? 'yes' : condition.reason;
}
