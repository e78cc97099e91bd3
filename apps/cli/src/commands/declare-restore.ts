import type { Command } from 'commander';

import { CliError, EXIT } from '../exit-codes.js';
import { hubOf, type CommandContext, type HubFlags } from './command-context.js';
import { FLEET_FIELDS, USER_ERRORS } from './fleet-documents.js';
import type { FleetPayload } from './freeze-automation.js';

const DECLARE = `mutation DeclareRestore { declareRestore { fleet { ${FLEET_FIELDS} } ${USER_ERRORS} } }`;

interface DeclareFlags extends HubFlags {
  readonly yes?: boolean;
}

const WHAT_IT_DOES = 'this tells the fleet that the hub’s database was put back from a backup: a new epoch begins, and every member is asked for everything anew; data planes keep what they have meanwhile';

/** `spillway declare-restore`. */
export function addDeclareRestoreCommand(program: Command, context: CommandContext): void {
  program
    .command('declare-restore')
    .description('say that the hub’s database was put back from a backup, so that every member tells everything anew')
    .option('--yes', 'do it; without it nothing is done')
    .action(async (_flags: DeclareFlags, command: Command) => {
      const flags = command.optsWithGlobals<DeclareFlags>();
      if (flags.yes !== true) throw new CliError(EXIT.usage, WHAT_IT_DOES, 'if a backup was put back, run it again with --yes; a restart or an empty database needs no declaration');
      const { fleet } = await hubOf(context, flags).mutate<FleetPayload>('declareRestore', DECLARE, {});
      context.terminal.err(`✔ epoch ${fleet.position.epoch} begins; ${fleet.clusterCount} members are asked for everything anew`);
      context.terminal.err('  follow it with: spillway clusters');
    });
}
