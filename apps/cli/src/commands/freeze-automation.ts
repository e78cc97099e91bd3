import type { Command } from 'commander';

import type { UserError } from '../hub-client.js';
import { hubOf, type CommandContext, type HubFlags } from './command-context.js';
import { FLEET_FIELDS, USER_ERRORS, type FleetSummary } from './fleet-documents.js';

const FREEZE = `mutation Freeze($input: FreezeAutomationInput!) { freezeAutomation(input: $input) { fleet { ${FLEET_FIELDS} } ${USER_ERRORS} } }`;
const RESUME = `mutation Resume { resumeAutomation { fleet { ${FLEET_FIELDS} } ${USER_ERRORS} } }`;

/** What mutations of the fleet as a whole answer. */
export interface FleetPayload {
  readonly fleet: FleetSummary;
  readonly userErrors: readonly UserError[];
}

interface FreezeFlags extends HubFlags {
  readonly reason: string;
}

/** `spillway freeze` and `spillway resume`. */
export function addFreezeCommands(program: Command, context: CommandContext): void {
  program
    .command('freeze')
    .description('stop share moves; endpoints that are gone still go')
    .requiredOption('--reason <text>', 'why, for those who find the fleet frozen')
    .action(async (_flags: FreezeFlags, command: Command) => {
      const flags = command.optsWithGlobals<FreezeFlags>();
      const { fleet } = await hubOf(context, flags).mutate<FleetPayload>('freezeAutomation', FREEZE, { input: { reason: flags.reason } });
      // Who freezes what is frozen finds the first reason in force.
      context.terminal.err(`✔ automation is frozen since ${fleet.freeze?.since ?? 'now'}: ${fleet.freeze?.reason ?? flags.reason}`);
      context.terminal.err('  end it with: spillway resume');
    });
  program
    .command('resume')
    .description('let shares move again')
    .action(async (_flags: HubFlags, command: Command) => {
      await hubOf(context, command.optsWithGlobals<HubFlags>()).mutate<FleetPayload>('resumeAutomation', RESUME, {});
      context.terminal.err('✔ shares follow capacity again');
    });
}
