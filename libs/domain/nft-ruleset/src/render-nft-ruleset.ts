import { assertNever } from '#domain/fleet';

import type { NftAction, NftChain, NftRule, NftRuleset, NftSet, NftStatement } from './nft-ruleset.js';

/** Writes a ruleset in nft's own language, one element per line. */
export function renderNftRuleset(ruleset: Omit<NftRuleset, 'text'>): string {
  const blocks = [
    ...ruleset.counters.map((name) => block(`counter ${name}`, [])),
    ...ruleset.sets.map((set) => block(`${setWord(set)} ${set.name}`, [...renderSetType(set), ...renderElementLines(set)])),
    ...ruleset.chains.map((chain) => block(`chain ${chain.name}`, [...renderHook(chain), ...chain.rules.map(renderRule)])),
  ];
  return `table ${ruleset.family} ${ruleset.table} {\n${blocks.join('\n')}}\n`;
}

const block = (head: string, lines: readonly string[]): string => `\t${head} {\n${lines.map((line) => `\t\t${line}\n`).join('')}\t}\n`;

/** nft's word for a set that holds data beside its keys is map. */
export const setWord = (set: NftSet): 'set' | 'map' => (set.kind === 'addresses' || set.kind === 'pairs' ? 'set' : 'map');

/** The lines that declare what a set or map holds. */
export function renderSetType(set: NftSet): readonly string[] {
  switch (set.kind) {
    case 'addresses':
      return ['type ipv4_addr'];
    case 'pairs':
      return ['type ipv4_addr . ipv4_addr'];
    case 'verdicts':
      return ['type ipv4_addr . inet_proto . inet_service : verdict'];
    case 'shares':
      return [`typeof numgen random mod ${set.modulus} : ip daddr . tcp dport`, 'flags interval'];
    default:
      return assertNever(set);
  }
}

/** The elements of a set or map as nft writes them, in their order. */
export function renderElements(set: NftSet): readonly string[] {
  switch (set.kind) {
    case 'addresses':
      return set.elements;
    case 'pairs':
      return set.elements.map((address) => `${address} . ${address}`);
    case 'verdicts':
      return set.elements.map(({ address, protocol, port, chain }) => `${address} . ${protocol} . ${port} : goto ${chain}`);
    case 'shares':
      return set.elements.map(({ from, to, address, port }) => `${from === to ? from : `${from}-${to}`} : ${address} . ${port}`);
    default:
      return assertNever(set);
  }
}

function renderElementLines(set: NftSet): readonly string[] {
  // Intervals stand in the order of their numbers already.
  const elements = set.kind === 'shares' ? renderElements(set) : [...renderElements(set)].sort();
  return elements.length === 0 ? [] : ['elements = {', ...elements.map((element) => `\t${element},`), '}'];
}

/** The line that hangs a base chain on its hook; none for other chains. */
export function renderHook(chain: NftChain): readonly string[] {
  if (chain.hook === undefined) return [];
  const { type, hook, priority } = chain.hook;
  return [`type ${type} hook ${hook} priority ${priority}; policy accept;`];
}

/** One rule as nft writes it. */
export const renderRule = (rule: NftRule): string => rule.map(renderStatement).join(' ');

function renderStatement(statement: NftStatement): string {
  switch (statement.kind) {
    case 'protocol-tcp':
      return 'meta l4proto tcp';
    case 'connection-new':
      return 'ct state new';
    case 'destination-in':
      return `ip daddr @${statement.set}`;
    case 'original-destination-in':
      return `ct original ip daddr @${statement.set}`;
    case 'source-and-destination-in':
      return `ip saddr . ip daddr @${statement.set}`;
    case 'source-is-local':
      return 'fib saddr type local';
    default:
      return renderAction(statement);
  }
}

function renderAction(action: NftAction): string {
  switch (action.kind) {
    case 'dispatch':
      return `ip daddr . meta l4proto . th dport vmap @${action.map}`;
    case 'dnat-by-share':
      return `dnat ip to numgen random mod ${action.modulus} map @${action.map}`;
    case 'counter':
    case 'masquerade':
      return action.kind;
    case 'named-counter':
      return `counter name "${action.counter}"`;
    case 'reject':
      return `reject with ${action.with === 'tcp reset' ? 'tcp reset' : 'icmp port-unreachable'}`;
    default:
      return assertNever(action);
  }
}
