import type { Command } from 'commander';

import { CliError, EXIT } from '../exit-codes.js';
import type { HubClient } from '../hub-client.js';
import { formatAge, printRows, printValue, type Column, type OutputFormat } from '../output.js';
import { hubOf, parseOutputFormat, type CommandContext, type HubFlags } from './command-context.js';

const LIST_QUERY = `query Backends($after: String, $namespace: String) {
  backends(first: 100, after: $after, namespace: $namespace) {
    nodes { namespace name memberCount servingCount observedAt freshness }
    pageInfo { hasNextPage endCursor }
  }
}`;

const ONE_QUERY = `query Backend($namespace: String!, $name: String!, $consumer: String) {
  backend(namespace: $namespace, name: $name) {
    namespace name memberCount servingCount observedAt freshness
    members(first: 100) { nodes { cluster readyCount endpointCount readyCapacity capacity { unit perEndpoint } mayExport mayImport refusals observedAt freshness } }
    imports(first: 100, consumer: $consumer) { nodes { consumer ports { port protocol shares { cluster shareBp } } refusals conflicts { message } } }
    conflicts { field winner losers message }
  }
}`;

interface BackendRow {
  readonly namespace: string;
  readonly name: string;
  readonly memberCount: number;
  readonly servingCount: number;
  readonly observedAt: string | null;
  readonly freshness: string;
}

interface MemberRow {
  readonly cluster: string;
  readonly readyCount: number;
  readonly endpointCount: number;
  readonly readyCapacity: number;
  readonly capacity: { readonly unit: string; readonly perEndpoint: number };
  readonly refusals: readonly string[];
  readonly observedAt: string | null;
  readonly freshness: string;
}

interface ImportRow {
  readonly consumer: string;
  readonly ports: readonly { readonly port: number; readonly protocol: string; readonly shares: readonly { readonly cluster: string; readonly shareBp: number }[] }[];
  readonly refusals: readonly string[];
}

interface BackendDetail extends BackendRow {
  readonly members: { readonly nodes: readonly MemberRow[] };
  readonly imports: { readonly nodes: readonly ImportRow[] };
  readonly conflicts: readonly { readonly message: string }[];
}

/** `spillway backends [NAMESPACE/NAME]`. */
export function addBackendsCommand(program: Command, context: CommandContext): void {
  program
    .command('backends')
    .alias('backend')
    .argument('[backend]', 'namespace/name: who serves it, and the share of each cluster')
    .description('list fleet backends, or show one with its shares')
    .option('-n, --namespace <namespace>', 'only this namespace')
    .option('--consumer <cluster>', 'shares as this cluster sees them')
    .option('-o, --output <format>', 'table, json or yaml', parseOutputFormat, 'table' as OutputFormat)
    .action(async (backend: string | undefined, flags: BackendFlags, command: Command) => {
      const hub = hubOf(context, command.optsWithGlobals<HubFlags>());
      if (backend === undefined) printRows(context.terminal, flags.output, await loadBackends(hub, flags.namespace), listColumns(context.clock.nowMs()));
      else showBackend(context, flags.output, await requireBackend(hub, backend, flags.consumer));
    });
}

interface BackendFlags {
  readonly namespace?: string;
  readonly consumer?: string;
  readonly output: OutputFormat;
}

async function loadBackends(hub: HubClient, namespace: string | undefined): Promise<readonly BackendRow[]> {
  const rows: BackendRow[] = [];
  let after: string | null = null;
  do {
    const page: BackendPage = await hub.query<BackendPage>(LIST_QUERY, { after, namespace: namespace ?? null });
    rows.push(...page.backends.nodes);
    after = page.backends.pageInfo.hasNextPage ? page.backends.pageInfo.endCursor : null;
  } while (after !== null);
  return rows;
}

interface BackendPage {
  readonly backends: { readonly nodes: readonly BackendRow[]; readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null } };
}

async function requireBackend(hub: HubClient, text: string, consumer: string | undefined): Promise<BackendDetail> {
  const [namespace, name, ...rest] = text.split('/');
  if (namespace === undefined || name === undefined || name === '' || rest.length > 0) throw new CliError(EXIT.usage, `${text} is no backend`, 'write namespace/name, such as ai/model');
  const { backend } = await hub.query<{ readonly backend: BackendDetail | null }>(ONE_QUERY, { namespace, name, consumer: consumer ?? null });
  if (backend === null) throw new CliError(EXIT.refused, `no cluster defines the backend ${text}`, 'create a CompositeBackend of that name in a member cluster, or list backends with `spillway backends`');
  return backend;
}

function showBackend(context: CommandContext, format: OutputFormat, backend: BackendDetail): void {
  if (format !== 'table') {
    printValue(context.terminal, format, backend);
    return;
  }
  const nowMs = context.clock.nowMs();
  const { terminal } = context;
  terminal.out(`${backend.namespace}/${backend.name}: ${backend.servingCount} of ${backend.memberCount} clusters serve it (oldest report ${ageOf(backend.observedAt, nowMs)} ago)\n`);
  printRows(terminal, 'table', backend.members.nodes, memberColumns(nowMs));
  terminal.out('');
  printRows(terminal, 'table', backend.imports.nodes.flatMap(toShareRows), SHARE_COLUMNS);
  for (const conflict of backend.conflicts) terminal.out(`\nconflict: ${conflict.message}`);
  for (const refusal of new Set(backend.members.nodes.flatMap((member) => member.refusals))) terminal.out(`\nrefused: ${refusal}`);
}

interface ShareRow {
  readonly consumer: string;
  readonly port: string;
  readonly shares: string;
}

const toShareRows = (row: ImportRow): readonly ShareRow[] =>
  row.ports.map(({ port, protocol, shares }) => ({
    consumer: row.consumer,
    port: `${port}/${protocol}`,
    shares: shares.map((share) => `${share.cluster} ${(share.shareBp / 100).toFixed(2)} %`).join('   ') || 'nobody can answer',
  }));

const SHARE_COLUMNS: readonly Column<ShareRow>[] = [
  { heading: 'CALLED FROM', cell: ({ consumer }) => consumer },
  { heading: 'PORT', cell: ({ port }) => port },
  { heading: 'SHARES', cell: ({ shares }) => shares },
];

const ageOf = (text: string | null, nowMs: number): string => formatAge(text === null ? undefined : Date.parse(text), nowMs);

const listColumns = (nowMs: number): readonly Column<BackendRow>[] => [
  { heading: 'BACKEND', cell: ({ namespace, name }) => `${namespace}/${name}` },
  { heading: 'SERVING', cell: ({ servingCount, memberCount }) => `${servingCount}/${memberCount} clusters` },
  { heading: 'FRESHNESS', cell: ({ freshness }) => freshness.toLowerCase() },
  { heading: 'SEEN', cell: ({ observedAt }) => ageOf(observedAt, nowMs) },
];

const memberColumns = (nowMs: number): readonly Column<MemberRow>[] => [
  { heading: 'CLUSTER', cell: ({ cluster }) => cluster },
  { heading: 'READY', cell: ({ readyCount, endpointCount }) => `${readyCount}/${endpointCount}` },
  { heading: 'CAPACITY', cell: ({ readyCapacity, capacity }) => `${readyCapacity} ${capacity.unit.toLowerCase()}` },
  { heading: 'FRESHNESS', cell: ({ freshness }) => freshness.toLowerCase() },
  { heading: 'SEEN', cell: ({ observedAt }) => ageOf(observedAt, nowMs) },
];
