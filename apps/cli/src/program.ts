import { Command, CommanderError } from 'commander';

import { addBackendsCommand } from './commands/list-backends.js';
import { addClustersCommand } from './commands/list-clusters.js';
import type { CommandContext } from './commands/command-context.js';
import { addDeclareRestoreCommand } from './commands/declare-restore.js';
import { addDiagnoseCommand } from './commands/diagnose-fleet.js';
import { addFreezeCommands } from './commands/freeze-automation.js';
import { addJoinCommand } from './commands/join-cluster.js';
import { addPolicyCommand } from './commands/set-policy.js';
import { addUnjoinCommand } from './commands/unjoin-cluster.js';
import { addUpCommand } from './commands/start-hub.js';
import { CliError, EXIT } from './exit-codes.js';

/** Runs one command line and returns its exit code. Results go to `out`, progress and errors to `err`. */
export async function runCli(argv: readonly string[], context: CommandContext): Promise<number> {
  try {
    await buildProgram(context).parseAsync([...argv], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(error, context);
  }
}

function buildProgram(context: CommandContext): Command {
  const program = new Command('spillway')
    .description('Joins the back ends of many Kubernetes clusters behind one stable address.')
    .option('--hub <url>', 'the hub’s address for people (else SPILLWAY_HUB, else the settings file)')
    .option('--token <token>', 'access token (else SPILLWAY_TOKEN, else the settings file)')
    .exitOverride()
    .showHelpAfterError('  → add --help to see what can be written')
    .configureOutput({ writeOut: (text) => context.terminal.out(text.trimEnd()), writeErr: (text) => context.terminal.err(text.trimEnd()) });
  program.configureHelp({ sortSubcommands: false });
  addUpCommand(program, context);
  addJoinCommand(program, context);
  addUnjoinCommand(program, context);
  addClustersCommand(program, context);
  addBackendsCommand(program, context);
  addPolicyCommand(program, context);
  addDiagnoseCommand(program, context);
  addFreezeCommands(program, context);
  addDeclareRestoreCommand(program, context);
  inheritSettings(program);
  return program;
}

// Commander's subcommands do not inherit exitOverride and output by themselves.
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inheritSettings(command);
  }
}

function report(error: unknown, context: CommandContext): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (!(error instanceof CliError)) throw error;
  context.terminal.err(`error: ${error.message}`);
  if (error.hint !== undefined) context.terminal.err(`  → ${error.hint}`);
  return error.exitCode;
}
