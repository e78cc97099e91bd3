import type { Command } from 'commander';

import { CliError, EXIT } from '../exit-codes.js';
import type { UserError } from '../hub-client.js';
import { startProgress } from '../terminal.js';
import { hubOf, parseDuration, type CommandContext, type HubFlags } from './command-context.js';
import { CLUSTER_QUERY, USER_ERRORS, type ClusterView } from './fleet-documents.js';

const REMOVE = `mutation Remove($input: RemoveClusterInput!) { removeCluster(input: $input) { cluster { name } ${USER_ERRORS} } }`;

interface UnjoinFlags extends HubFlags {
  readonly force?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
}

/** What `--force` leaves in a cluster, for its owner to remove. */
const LEFT_BEHIND = [
  'kubectl delete namespace spillway-system',
  'kubectl delete clusterrole,clusterrolebinding -l app.kubernetes.io/managed-by=spillway',
  'kubectl delete ipaddresses -l ipaddress.kubernetes.io/managed-by=spillway.dev',
  'on each node: nft delete table ip spillway',
];

/** `spillway unjoin NAME`. */
export function addUnjoinCommand(program: Command, context: CommandContext): void {
  program
    .command('unjoin')
    .argument('<name>', 'a member cluster')
    .description('let a cluster leave: its spoke cleans up, or with --force the hub forgets it at once')
    .option('--force', 'do not contact the cluster; what is left in it is printed')
    .option('--wait', 'wait until it has left')
    .option('--timeout <duration>', 'for --wait', parseDuration, 300_000)
    .action(async (name: string, _flags: UnjoinFlags, command: Command) => unjoin(context, name, command.optsWithGlobals<UnjoinFlags>()));
}

async function unjoin(context: CommandContext, name: string, flags: UnjoinFlags): Promise<void> {
  const hub = hubOf(context, flags);
  await hub.mutate<{ readonly userErrors: readonly UserError[] }>('removeCluster', REMOVE, { input: { name, force: flags.force === true } });
  context.terminal.err(`✔ ${name} is asked to leave`);
  if (flags.force === true) context.terminal.err(`What is left in it, for its owner to remove:\n${LEFT_BEHIND.map((line) => `  ${line}`).join('\n')}`);
  if (flags.wait !== true) return;
  const progress = startProgress(context.terminal, `${name}: cleaning up`);
  const deadlineMs = context.clock.monotonicMs() + flags.timeout;
  while (context.clock.monotonicMs() < deadlineMs) {
    const { cluster } = await hub.query<{ readonly cluster: ClusterView | null }>(CLUSTER_QUERY, { name });
    if (cluster === null) {
      progress.done(`${name} has left`);
      return;
    }
    const blocking = cluster.conditions.find((condition) => condition.status === 'FALSE');
    if (blocking !== undefined) progress.update(`${name}: ${blocking.reason}: ${blocking.message}`);
    await context.clock.sleep(500);
  }
  progress.fail(`${name} has not left yet`);
  throw new CliError(EXIT.timedOut, `${name} did not leave within ${Math.round(flags.timeout / 1000)} s`, `if it cannot be reached any more: spillway unjoin ${name} --force`);
}
