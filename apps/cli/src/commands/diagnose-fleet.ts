import type { Command } from 'commander';

import { CliError, EXIT } from '../exit-codes.js';
import { formatAge, printValue, type OutputFormat } from '../output.js';
import { hubOf, parseOutputFormat, type CommandContext, type HubFlags } from './command-context.js';
import { FLEET_QUERY, type ClusterView, type FleetSummary } from './fleet-documents.js';
import { loadClusters, requireCluster } from './list-clusters.js';

/** One check: whether it holds, what was seen, and what to do where it does not. */
export interface Check {
  readonly subject: string;
  readonly ok: boolean;
  /** False where nobody could find out: no fault, and no assurance either. */
  readonly known: boolean;
  readonly finding: string;
}

/** `spillway diagnose [NAME]`. */
export function addDiagnoseCommand(program: Command, context: CommandContext): void {
  program
    .command('diagnose')
    .argument('[name]', 'only this cluster')
    .description('check hub and members, with what to do where something is wrong')
    .option('-o, --output <format>', 'table, json or yaml', parseOutputFormat, 'table' as OutputFormat)
    .action(async (name: string | undefined, flags: { readonly output: OutputFormat }, command: Command) => {
      const hub = hubOf(context, command.optsWithGlobals<HubFlags>());
      const { fleet } = await hub.query<{ readonly fleet: FleetSummary }>(FLEET_QUERY);
      const clusters = name === undefined ? await loadClusters(hub) : [await requireCluster(hub, name)];
      const checks = [...fleetChecks(hub.url, fleet), ...clusters.flatMap((cluster) => clusterChecks(cluster, context.clock.nowMs()))];
      if (flags.output === 'table') for (const check of checks) context.terminal.out(`${markOf(check)} ${check.subject}: ${check.finding}`);
      else printValue(context.terminal, flags.output, checks);
      const failed = checks.filter((check) => !check.ok).length;
      if (failed > 0) throw new CliError(EXIT.unhealthy, `${failed} of ${checks.length} checks need attention`);
    });
}

const markOf = ({ ok, known }: Check): string => (known ? (ok ? '✔' : '✖') : '?');

/** Checks of the hub and the fleet as a whole. */
function fleetChecks(url: string, fleet: FleetSummary): readonly Check[] {
  return [
    { subject: 'hub', ok: true, known: true, finding: `answers at ${url}; spokes reach it at ${fleet.publicUrl}` },
    { subject: 'automation', ok: fleet.freeze === null, known: true, finding: fleet.freeze === null ? 'shares follow capacity' : `frozen since ${fleet.freeze.since}: ${fleet.freeze.reason}; \`spillway resume\` ends it` },
    { subject: 'members', ok: fleet.staleCount === 0, known: true, finding: `${fleet.freshCount} of ${fleet.clusterCount} report; ${fleet.joiningCount} joining, ${fleet.staleCount} silent` },
    { subject: 'sameness', ok: fleet.policyCount > 0 || fleet.backendCount === 0, known: true, finding: fleet.policyCount > 0 ? `${fleet.policyCount} ${fleet.policyCount === 1 ? 'policy' : 'policies'}` : 'no policy: nothing is the same anywhere; see `spillway policy sameness set --help`' },
  ];
}

/** Checks of one member: its spoke, and every condition that the worker wrote. */
function clusterChecks(cluster: ClusterView, nowMs: number): readonly Check[] {
  const seen = formatAge(cluster.observedAt === null ? undefined : Date.parse(cluster.observedAt), nowMs);
  const spoke: Check = {
    subject: `${cluster.name} spoke`,
    ok: cluster.freshness === 'FRESH',
    known: true,
    finding: cluster.enrolledAt === null ? 'has not enrolled; without a kubeconfig run what `spillway join --print` prints' : `last report ${seen} ago (${cluster.freshness.toLowerCase()})`,
  };
  return [spoke, ...cluster.conditions.map((condition) => ({ subject: `${cluster.name} ${condition.type}`, ok: condition.status !== 'FALSE', known: condition.status !== 'UNKNOWN', finding: condition.status === 'TRUE' ? condition.message || condition.reason : `${condition.reason}: ${condition.message}` }))];
}
