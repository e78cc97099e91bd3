import type { Command } from 'commander';

import { CliError, EXIT } from '../exit-codes.js';
import type { HubClient, UserError } from '../hub-client.js';
import { startProgress } from '../terminal.js';
import { hubOf, timeoutOption, type CommandContext, type HubFlags } from './command-context.js';
import { CLUSTER_QUERY, USER_ERRORS, type ClusterView, type ConditionView } from './fleet-documents.js';
import { requireCluster } from './list-clusters.js';

const REMOVE = `mutation Remove($input: RemoveClusterInput!) { removeCluster(input: $input) { cluster { name } ${USER_ERRORS} } }`;

interface UnjoinFlags extends HubFlags {
  readonly force?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
}

/** What `--force` leaves in a cluster, for its owner to remove, in this order: a running spoke would put back what it finds missing. */
const LEFT_BEHIND = [
  'kubectl delete namespace spillway-system',
  'kubectl delete clusterrole,clusterrolebinding spillway-spoke-controller',
  'kubectl delete gatewayclass cluster-ip',
  'kubectl delete ipaddresses -l ipaddress.kubernetes.io/managed-by=spillway.dev',
  'take the finalizer spillway.dev/address-protection off Gateways and ServiceCIDRs (kubectl edit), else they cannot be deleted',
  'on nodes that were down meanwhile: nft delete table ip spillway',
];

/** `spillway unjoin NAME`. */
export function addUnjoinCommand(program: Command, context: CommandContext): void {
  program
    .command('unjoin')
    .argument('<name>', 'a member cluster')
    .description('let a cluster leave: its spoke cleans up, or with --force the hub forgets it at once')
    .option('--force', 'do not contact the cluster; what is left in it is printed')
    .option('--wait', 'wait until it has left')
    .addOption(timeoutOption())
    .action(async (name: string, _flags: UnjoinFlags, command: Command) => unjoin(context, name, command.optsWithGlobals<UnjoinFlags>()));
}

async function unjoin(context: CommandContext, name: string, flags: UnjoinFlags): Promise<void> {
  const hub = hubOf(context, flags);
  const { hasKubeconfig } = await requireCluster(hub, name);
  if (!hasKubeconfig && flags.force !== true) {
    throw new CliError(EXIT.refused, `${name} joined by token: the hub has no way into it to clean up`, `run \`helm uninstall spillway-spoke --namespace spillway-system\` there, then \`spillway unjoin ${name} --force\``);
  }
  await hub.mutate<{ readonly userErrors: readonly UserError[] }>('removeCluster', REMOVE, { input: { name, force: flags.force === true } });
  context.terminal.err(flags.force === true ? `✔ ${name} is out of the fleet; the cluster itself was not contacted` : `✔ ${name} is asked to leave`);
  if (flags.force === true) context.terminal.err(`What is left in it, for its owner to remove:\n${LEFT_BEHIND.map((line) => `  ${line}`).join('\n')}`);
  if (flags.wait === true) await waitUntilGone(context, hub, name, flags);
  else if (flags.force !== true) context.terminal.err(`  follow it with: spillway diagnose ${name}`);
}

async function waitUntilGone(context: CommandContext, hub: HubClient, name: string, flags: UnjoinFlags): Promise<void> {
  const progress = startProgress(context.terminal, `${name}: cleaning up`);
  const deadlineMs = context.clock.monotonicMs() + flags.timeout;
  while (context.clock.monotonicMs() < deadlineMs) {
    const { cluster } = await hub.query<{ readonly cluster: ClusterView | null }>(CLUSTER_QUERY, { name });
    if (cluster === null) {
      progress.done(`${name} has left`);
      return;
    }
    const step = leavingStep(cluster);
    if (step !== undefined) progress.update(`${name}: ${step.message}`);
    await context.clock.sleep(500);
  }
  progress.fail(`${name} has not left yet`);
  throw new CliError(EXIT.timedOut, `${name} did not leave within ${Math.round(flags.timeout / 1000)} s`, `if it cannot be reached any more: spillway unjoin ${name} --force`);
}

// What stands against it, else how far it got.
function leavingStep(cluster: ClusterView): ConditionView | undefined {
  return cluster.conditions.find(({ type, status }) => status === 'FALSE' && (type === 'ApiReachable' || type === 'Leaving')) ?? cluster.conditions.find(({ type }) => type === 'Leaving');
}
