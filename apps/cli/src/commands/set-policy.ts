import { InvalidArgumentError, type Command } from 'commander';

import { printRows, printValue, type Column, type OutputFormat } from '../output.js';
import type { UserError } from '../hub-client.js';
import { collect, hubOf, parseOutputFormat, type CommandContext, type HubFlags, type LabelFlag } from './command-context.js';
import { USER_ERRORS } from './fleet-documents.js';

const POLICY_FIELDS = 'name namespaces mayExport { all names matchLabels { key value } } mayImport { all names matchLabels { key value } } owner';
const SET = `mutation Set($input: SetSamenessPolicyInput!) { setSamenessPolicy(input: $input) { policy { ${POLICY_FIELDS} } ${USER_ERRORS} } }`;
const DELETE = `mutation Delete($input: DeletePolicyInput!) { deletePolicy(input: $input) { policy { name } ${USER_ERRORS} } }`;
const LIST = `query Policies { policies(first: 100) { nodes { ${POLICY_FIELDS} } } }`;

interface Selection {
  readonly all: boolean;
  readonly names: readonly string[];
  readonly matchLabels: readonly LabelFlag[];
}

interface PolicyView {
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly mayExport: Selection;
  readonly mayImport: Selection;
  readonly owner: string;
}

interface SetFlags extends HubFlags {
  readonly namespace: readonly string[];
  readonly export: Selection;
  readonly import: Selection;
  readonly owner: string;
  readonly output: OutputFormat;
}

/** `spillway policy sameness set|list|delete`. */
export function addPolicyCommand(program: Command, context: CommandContext): void {
  const sameness = program.command('policy').description('fleet policies').command('sameness').description('in which clusters a namespace means the same thing');
  sameness
    .command('set')
    .argument('<name>', 'the policy’s name; an existing policy is replaced')
    .description('say which clusters may export and import which namespaces')
    .requiredOption('--namespace <name>', 'a namespace, or a prefix that ends in *; repeatable', collect)
    .requiredOption('--export <clusters>', 'all, or cluster names or key=value labels, comma-separated', parseSelection)
    .requiredOption('--import <clusters>', 'all, or cluster names or key=value labels, comma-separated', parseSelection)
    .option('--owner <text>', 'who answers for it', '')
    .option('-o, --output <format>', 'table, json or yaml', parseOutputFormat, 'table' as OutputFormat)
    .action(async (name: string, _flags: SetFlags, command: Command) => {
      const flags = command.optsWithGlobals<SetFlags>();
      const input = { name, namespaces: flags.namespace, mayExport: flags.export, mayImport: flags.import, owner: flags.owner };
      const { policy } = await hubOf(context, flags).mutate<{ readonly policy: PolicyView; readonly userErrors: readonly UserError[] }>('setSamenessPolicy', SET, { input });
      if (flags.output === 'table') context.terminal.err(`✔ ${policy.namespaces.join(', ')}: ${describeSelection(policy.mayExport)} may export, ${describeSelection(policy.mayImport)} may import`);
      else printValue(context.terminal, flags.output, policy);
    });
  sameness
    .command('list')
    .description('list sameness policies')
    .option('-o, --output <format>', 'table, json or yaml', parseOutputFormat, 'table' as OutputFormat)
    .action(async (flags: { readonly output: OutputFormat }, command: Command) => {
      const { policies } = await hubOf(context, command.optsWithGlobals<HubFlags>()).query<{ readonly policies: { readonly nodes: readonly PolicyView[] } }>(LIST);
      printRows(context.terminal, flags.output, policies.nodes, COLUMNS);
    });
  sameness
    .command('delete')
    .argument('<name>', 'the policy’s name')
    .description('delete a sameness policy: its namespaces are no longer the same')
    .action(async (name: string, _flags: HubFlags, command: Command) => {
      await hubOf(context, command.optsWithGlobals<HubFlags>()).mutate('deletePolicy', DELETE, { input: { name } });
      context.terminal.err(`✔ policy ${name} is deleted`);
    });
}

/** Parses `all`, names and `key=value` labels. */
function parseSelection(text: string): Selection {
  if (text === 'all') return { all: true, names: [], matchLabels: [] };
  const parts = text.split(',').map((part) => part.trim());
  if (parts.some((part) => part === '' || part.startsWith('='))) throw new InvalidArgumentError('write all, or names and key=value labels separated by commas.');
  const labels = parts.filter((part) => part.includes('='));
  return {
    all: false,
    names: parts.filter((part) => !part.includes('=')),
    matchLabels: labels.map((label) => ({ key: label.slice(0, label.indexOf('=')), value: label.slice(label.indexOf('=') + 1) })),
  };
}

function describeSelection(selection: Selection): string {
  if (selection.all) return 'all clusters';
  return [...selection.names, ...selection.matchLabels.map(({ key, value }) => `${key}=${value}`)].join(', ') || 'no cluster';
}

const COLUMNS: readonly Column<PolicyView>[] = [
  { heading: 'NAME', cell: ({ name }) => name },
  { heading: 'NAMESPACES', cell: ({ namespaces }) => namespaces.join(', ') },
  { heading: 'MAY EXPORT', cell: ({ mayExport }) => describeSelection(mayExport) },
  { heading: 'MAY IMPORT', cell: ({ mayImport }) => describeSelection(mayImport) },
  { heading: 'OWNER', cell: ({ owner }) => owner || '-' },
];
