import { readFileSync } from 'node:fs';

import type { Command } from 'commander';

import { CliError, EXIT } from '../exit-codes.js';
import { reasonOf, type HubClient, type UserError } from '../hub-client.js';
import { startProgress, type Progress } from '../terminal.js';
import { collectLabels, hubOf, timeoutOption, type CommandContext, type HubFlags, type LabelFlag } from './command-context.js';
import { USER_ERRORS, type ClusterView, type ConditionView } from './fleet-documents.js';
import { requireCluster } from './list-clusters.js';

const REGISTER = `mutation Register($input: RegisterClusterInput!) { registerCluster(input: $input) { cluster { name } ${USER_ERRORS} } }`;
const CREATE_TOKEN = `mutation Token($input: CreateJoinTokenInput!) { createJoinToken(input: $input) { joinToken { token expiresAt } ${USER_ERRORS} } }`;

interface JoinFlags extends HubFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly region?: string;
  readonly zone?: string;
  readonly network: string;
  readonly label?: readonly LabelFlag[];
  readonly print?: boolean;
  readonly replace?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
}

interface Payload {
  readonly userErrors: readonly UserError[];
}

/** `spillway join NAME`. */
export function addJoinCommand(program: Command, context: CommandContext): void {
  program
    .command('join')
    .argument('<name>', 'the cluster’s name in the fleet: one RFC 1123 label')
    .description('make a cluster a member: with its kubeconfig, or with --print for one that the hub cannot reach')
    .option('--kubeconfig <file>', 'kubeconfig with inline credentials; `kubectl config view --raw --minify --flatten` makes one')
    .option('--context <name>', 'which context of the kubeconfig')
    .option('--region <region>', 'where it runs')
    .option('--zone <zone>', 'where it runs')
    .option('--network <name>', 'clusters of one network reach each other’s pods directly', 'default')
    .option('--label <key=value>', 'repeatable', collectLabels)
    .option('--print', 'print the command to run in the cluster instead of reaching into it')
    .option('--replace', 'with --print: let another cluster take over a name in use')
    .option('--wait', 'wait until the cluster’s spoke has told everything once')
    .addOption(timeoutOption())
    .action(async (name: string, _flags: JoinFlags, command: Command) => join(context, name, command.optsWithGlobals<JoinFlags>()));
}

async function join(context: CommandContext, name: string, flags: JoinFlags): Promise<void> {
  if (flags.print === true && flags.kubeconfig !== undefined) throw new CliError(EXIT.usage, '--print and --kubeconfig exclude each other', 'leave one out');
  if (flags.print !== true && flags.kubeconfig === undefined) throw new CliError(EXIT.usage, 'join needs a way into the cluster', 'pass --kubeconfig FILE, or --print to get a command to run there');
  const hub = hubOf(context, flags);
  await register(hub, name, flags);
  if (flags.print === true) await printInstallCommand(context, hub, name, flags.replace === true);
  else context.terminal.err(`✔ ${name} is registered; the hub now installs its spoke`);
  if (flags.wait === true) await waitUntilJoined(context, hub, name, flags.timeout);
  else context.terminal.err(`  follow it with: spillway clusters ${name}`);
}

async function register(hub: HubClient, name: string, flags: JoinFlags): Promise<void> {
  const input = {
    name,
    network: flags.network,
    labels: flags.label ?? [],
    ...(flags.region === undefined && flags.zone === undefined ? {} : { location: { region: flags.region ?? '', zone: flags.zone ?? '' } }),
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: readKubeconfig(flags.kubeconfig) }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  };
  try {
    await hub.mutate<Payload>('registerCluster', REGISTER, { input });
  } catch (error) {
    // A spoke that joins again (a new token for a known cluster) keeps its registration.
    const isKnown = flags.print === true && error instanceof CliError && error.message.startsWith('CLUSTER_NAME_TAKEN');
    if (!isKnown) throw withHint(error);
  }
}

// A cluster on this machine (kind, k3d) is the usual way to try things out.
function withHint(error: unknown): unknown {
  const isLocal = error instanceof CliError && error.message.startsWith('KUBECONFIG_SERVER_LOCAL');
  return isLocal ? new CliError(error.exitCode, error.message, 'to try it with a cluster on the hub’s machine: spillway up --allow-local-clusters') : error;
}

function readKubeconfig(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(EXIT.usage, `cannot read ${file}: ${reasonOf(error)}`, 'pass the path of a kubeconfig file');
  }
}

async function printInstallCommand(context: CommandContext, hub: HubClient, name: string, replace: boolean): Promise<void> {
  const { joinToken } = await hub.mutate<Payload & { readonly joinToken: { readonly token: string; readonly expiresAt: string } }>('createJoinToken', CREATE_TOKEN, { input: { name, replace } });
  context.terminal.err(`Run this with access to the cluster ${name}. The token in it works once, until ${joinToken.expiresAt}.\n`);
  context.terminal.out(
    ['helm upgrade --install spillway-spoke oci://ghcr.io/spillway-dev/charts/spillway-spoke \\', '  --namespace spillway-system --create-namespace \\', `  --set-string joinToken=${joinToken.token}`].join('\n'),
  );
}

const POLL_MS = 500;

/** Waits until the spoke of a cluster has told everything once, saying what is missing meanwhile. */
async function waitUntilJoined(context: CommandContext, hub: HubClient, name: string, timeoutMs: number): Promise<void> {
  const progress = startProgress(context.terminal, `${name}: waiting for its spoke`);
  const deadlineMs = context.clock.monotonicMs() + timeoutMs;
  while (context.clock.monotonicMs() < deadlineMs) {
    const cluster = await requireCluster(hub, name);
    if (cluster.freshness === 'FRESH' && cluster.firstListComplete) {
      progress.done(`${name} is a member`);
      return;
    }
    report(progress, cluster);
    await context.clock.sleep(POLL_MS);
  }
  progress.fail(`${name} has not joined yet`);
  throw new CliError(EXIT.timedOut, `${name} did not join within ${Math.round(timeoutMs / 1000)} s; the hub goes on trying`, `see \`spillway diagnose ${name}\``);
}

function report(progress: Progress, cluster: ClusterView): void {
  const blocking = cluster.conditions.find((condition): condition is ConditionView => condition.status === 'FALSE');
  const step = cluster.enrolledAt === null ? 'installing its spoke' : 'its spoke reads the cluster for the first time';
  progress.update(`${cluster.name}: ${blocking === undefined ? step : `${blocking.reason}: ${blocking.message}`}`);
}
