import { assertNever } from '#domain/fleet';

import { AFFINITY_MAP, FLOWS_SET } from './names.js';
import { TABLE_NAME, type NftAction, type NftChain, type NftFamily, type NftPacketField, type NftRule, type NftSet, type NftStatement, type NftTable, type NftUnit } from './nft-ruleset.js';
import { elementParts, fieldTypes, SET_LAYOUTS, setWord, type NftElementParts } from './set-layout.js';

/** Writes tables in nft's own language, one element per line. */
export const renderNftTables = (tables: readonly NftTable[]): string => tables.map(renderTable).join('\n');

function renderTable({ family, counters, sets, chains }: NftTable): string {
  const blocks = [
    ...counters.map((name) => block(`counter ${name}`, [])),
    ...sets.map((set) => block(`${setWord(set)} ${set.name}`, [...renderSetType(family, set), ...renderElementLines(set)])),
    ...chains.map((chain) => block(`chain ${chain.name}`, [...renderHook(chain), ...chain.rules.map((rule) => renderRule(family, rule))])),
  ];
  return `table ${family} ${TABLE_NAME} {\n${blocks.join('\n')}}\n`;
}

const block = (head: string, lines: readonly string[]): string => `\t${head} {\n${lines.map((line) => `\t\t${line}\n`).join('')}\t}\n`;

/** The lines that declare what a set or map holds. */
export function renderSetType(family: NftFamily, set: NftSet): readonly string[] {
  const { key, data, dynamic } = SET_LAYOUTS[set.kind];
  if (set.kind === 'shares') return [`typeof ${draw(set.modulus)} : ${family} daddr . ${set.protocol} dport`, 'flags interval'];
  if (set.kind === 'owners') return [`typeof ${draw(set.modulus)} : meta mark`, 'flags interval'];
  const typeNames = (fields: readonly string[]): string => fields.map((field) => (fieldTypes(family) as Readonly<Record<string, string>>)[field] ?? field).join(' . ');
  const dataType = data === undefined ? '' : ` : ${data === 'verdict' ? data : typeNames(data)}`;
  return [`type ${typeNames(key)}${dataType}`, ...(dynamic === undefined ? [] : [`size ${dynamic.size}`, 'flags dynamic,timeout', `timeout ${dynamic.timeoutSeconds}s`])];
}

/** The elements of a set or map as nft writes them, in their order. */
export const renderElements = (set: NftSet): readonly string[] => elementParts(set).map(renderElement);

function renderElement({ key, to, data, goto }: NftElementParts): string {
  const keyText = to === undefined || to === key[0] ? key.join(' . ') : `${key.join()}-${to}`;
  if (goto !== undefined) return `${keyText} : goto ${goto}`;
  return data === undefined ? keyText : `${keyText} : ${data.join(' . ')}`;
}

function renderElementLines(set: NftSet): readonly string[] {
  // Intervals stand in the order of their numbers already.
  const elements = SET_LAYOUTS[set.kind].isInterval ? renderElements(set) : [...renderElements(set)].sort();
  return elements.length === 0 ? [] : ['elements = {', ...elements.map((element) => `\t${element},`), '}'];
}

/** The line that hangs a base chain on its hook; none for other chains. */
export function renderHook(chain: NftChain): readonly string[] {
  if (chain.hook === undefined) return [];
  const { type, hook, priority } = chain.hook;
  return [`type ${type} hook ${hook} priority ${priority}; policy accept;`];
}

/** One rule as nft writes it. */
export const renderRule = (family: NftFamily, rule: NftRule): string => rule.map((statement) => renderStatement(family, statement)).join(' ');

function renderStatement(family: NftFamily, statement: NftStatement): string {
  switch (statement.kind) {
    case 'protocol':
      return `meta l4proto ${statement.is}`;
    case 'connection-new':
      return 'ct state new';
    case 'connection-translated':
      return 'ct status dnat';
    case 'in-set':
      return `${renderFields(family, statement.fields)} @${statement.set}`;
    case 'not-in-set':
      return `${renderFields(family, statement.fields)} != @${statement.set}`;
    case 'source-is-local':
      return 'fib saddr type local';
    case 'destination-is-local':
      return 'fib daddr type local';
    case 'unit-of-owner':
      return `${renderUnit(family, statement.unit, statement.modulus)} map @${statement.map} == 0x${statement.owner.toString(16).padStart(8, '0')}${statement.unit === 'taken' ? ' meta priority set 0' : ''}`;
    default:
      return renderAction(family, statement);
  }
}

function renderAction(family: NftFamily, action: NftAction): string {
  switch (action.kind) {
    case 'dispatch':
      return `${renderFields(family, action.fields)} vmap @${action.map}`;
    case 'goto':
      return `goto ${action.chain}`;
    case 'remember':
      return `update @${AFFINITY_MAP} { ${renderFields(family, CALLER_FIELDS)} timeout ${action.timeoutSeconds}s : ${draw(action.modulus)} }`;
    case 'take-unit':
      return `meta priority set ${renderTaken(family, action)}`;
    case 'dnat-by-share':
      return `${GIVE_BACK[action.unit]}dnat ${family} to ${renderUnit(family, action.unit, action.modulus)} map @${action.map}`;
    case 'count-flow':
      return `update @${FLOWS_SET} { ${renderFields(family, FLOW_FIELDS)} counter }`;
    case 'masquerade':
      return action.kind;
    case 'named-counter':
      return `counter name "${action.counter}"`;
    case 'reject':
      return `reject with ${REJECT_WORDS[action.with](family)}`;
    default:
      return assertNever(action);
  }
}

// Forwarding sets the priority anew; a packet of the node itself has none.
const GIVE_BACK: Readonly<Record<NftUnit, string>> = { random: '', hashed: '', taken: 'meta priority set 0 ' };

const REJECT_WORDS = {
  'tcp reset': () => 'tcp reset',
  'port unreachable': (family: NftFamily) => `${family === 'ip' ? 'icmp' : 'icmpv6'} port-unreachable`,
} as const;

const renderTaken = (family: NftFamily, { from, modulus }: Extract<NftAction, { readonly kind: 'take-unit' }>): string =>
  from === 'hash' ? renderUnit(family, 'hashed', modulus) : `${renderFields(family, CALLER_FIELDS)} map @${AFFINITY_MAP}`;

/** What a caller's unit is remembered by. */
export const CALLER_FIELDS: readonly NftPacketField[] = ['source', 'destination', 'protocol', 'destination-port'];

/** What new connections are counted by, once they are translated. */
export const FLOW_FIELDS: readonly NftPacketField[] = ['original-destination', 'protocol', 'original-destination-port', 'destination', 'destination-port'];

/** What a hashed unit is computed from. */
export const HASHED_FIELDS: readonly NftPacketField[] = ['source', 'destination'];

/** Any number does; it must be the same on every node and over restarts. */
export const HASH_SEED = 0x5b11;

const draw = (modulus: number): string => `numgen random mod ${modulus}`;

function renderUnit(family: NftFamily, unit: NftUnit, modulus: number): string {
  switch (unit) {
    case 'random':
      return draw(modulus);
    case 'hashed':
      return `jhash ${renderFields(family, HASHED_FIELDS)} mod ${modulus} seed 0x${HASH_SEED.toString(16)}`;
    case 'taken':
      return 'meta priority';
    default:
      return assertNever(unit);
  }
}

function renderFields(family: NftFamily, fields: readonly NftPacketField[]): string {
  const texts: Readonly<Record<NftPacketField, string>> = {
    source: `${family} saddr`,
    destination: `${family} daddr`,
    protocol: 'meta l4proto',
    'destination-port': 'th dport',
    'original-source': `ct original ${family} saddr`,
    'original-destination': `ct original ${family} daddr`,
    'original-destination-port': 'ct original proto-dst',
  };
  return fields.map((field) => texts[field]).join(' . ');
}
