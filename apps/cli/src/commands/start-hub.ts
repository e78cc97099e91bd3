import type { Command } from 'commander';

import { runProcess } from '#platform';

import type { CommandContext } from './command-context.js';
import type { UpFlags } from './run-hub.js';

/** `spillway up`. */
export function addUpCommand(program: Command, context: CommandContext): void {
  program
    .command('up')
    .description('run hub, worker and an embedded PostgreSQL in this process, until Ctrl-C')
    .option('--data <folder>', 'where database and keys are kept')
    .option('--advertise <host>', 'address of this machine as members reach it')
    .option('--people-port <port>', 'GraphQL over HTTP', '8080')
    .option('--machine-port <port>', 'spoke API over HTTPS', '8443')
    .option('--worker-port <port>', 'the worker’s health and metrics', '9092')
    .option('--allow-local-clusters', 'accept API servers on loopback and link-local addresses')
    .option('--log-level <level>', 'debug, info, warn or error', 'warn')
    .action(async (flags: UpFlags) => {
      // Hub and worker are loaded here only: every other command starts without them.
      const { runHub } = await import('./run-hub.js');
      await runProcess(() => runHub(context, flags));
      // The listeners keep the process alive; the command ends by signal.
      await new Promise<never>(() => {});
    });
}
