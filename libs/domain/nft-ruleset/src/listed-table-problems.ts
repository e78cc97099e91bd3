import { assertNever, type Problem } from '#domain/fleet';

import type { NftAction, NftChain, NftRule, NftRuleset, NftSet, NftStatement } from './nft-ruleset.js';
import { setWord } from './render-nft-ruleset.js';

/**
 * Compares what `nft -j list table ip spillway` says with what we meant: every counter, set, map, chain, rule and element,
 * by an independent program's reading of the kernel. No problem means that they are the same. Handles and counts do not
 * matter.
 */
export function listedTableProblems(listed: unknown, ruleset: NftRuleset): readonly Problem[] {
  const want = new Map(wantedFacts(ruleset));
  const got = new Map(listedFacts(listed));
  const missing = [...want.keys()].filter((key) => !got.has(key)).map((key) => problem(key, 'NFT_LIST_MISSING', 'is not in the kernel'));
  const foreign = [...got.keys()].filter((key) => !want.has(key)).map((key) => problem(key, 'NFT_LIST_FOREIGN', 'is in the kernel and not ours'));
  const other = [...want].flatMap(([key, fact]) => {
    const is = got.get(key);
    return is === undefined || is === fact ? [] : [problem(key, 'NFT_LIST_DIFFERS', `is ${shorten(is)} and should be ${shorten(fact)}`)];
  });
  return [...missing, ...foreign, ...other];
}

// A key says which thing, a fact says what it is, both as text.
type Fact = readonly [key: string, fact: string];
type Json = Readonly<Record<string, unknown>>;

const SHOWN_LENGTH_MAX = 200;
const shorten = (text: string): string => (text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
const problem = (path: string, code: string, message: string): Problem => ({ path, code, message: `${path} ${message}` });
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

// JSON text with sorted keys, without what changes by itself.
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isJson(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([key]) => key !== 'packets' && key !== 'bytes' && key !== 'handle');
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${key}:${canonical(inner)}`)
    .join(',')}}`;
}

function wantedFacts(ruleset: NftRuleset): readonly Fact[] {
  return [
    ...ruleset.counters.map((name): Fact => [`counter ${name}`, '']),
    ...ruleset.sets.flatMap((set): readonly Fact[] => [
      [`${setWord(set)} ${set.name}`, set.kind === 'shares' ? 'interval' : ''],
      ...listedElements(set).map((element): Fact => [`element ${canonical(element)} of ${set.name}`, '']),
    ]),
    ...ruleset.chains.flatMap((chain): readonly Fact[] => [
      [`chain ${chain.name}`, hookFact(chain)],
      ...chain.rules.map((rule, index): Fact => [`rule ${index} of ${chain.name}`, canonical(listedRule(rule))]),
    ]),
  ];
}

const hookFact = ({ hook }: NftChain): string => (hook === undefined ? '' : `${hook.type} ${hook.hook} ${hook.priority} accept`);

function listedElements(set: NftSet): readonly unknown[] {
  switch (set.kind) {
    case 'addresses':
      return set.elements;
    case 'pairs':
      return set.elements.map((address) => ({ concat: [address, address] }));
    case 'verdicts':
      return set.elements.map(({ address, protocol, port, chain }) => [{ concat: [address, protocol, port] }, { goto: { target: chain } }]);
    case 'shares':
      return set.elements.map(({ from, to, address, port }) => [from === to ? from : { range: [from, to] }, { concat: [address, port] }]);
    default:
      return assertNever(set);
  }
}

const listedRule = (rule: NftRule): readonly unknown[] => rule.map(listedStatement);

const match = (left: unknown, right: string, op = '=='): unknown => ({ match: { op, left, right } });
const field = (protocol: string, name: string): unknown => ({ payload: { protocol, field: name } });
const meta = (key: string): unknown => ({ meta: { key } });

function listedStatement(statement: NftStatement): unknown {
  switch (statement.kind) {
    case 'protocol-tcp':
      return match(meta('l4proto'), 'tcp');
    case 'connection-new':
      return match({ ct: { key: 'state' } }, 'new', 'in');
    case 'destination-in':
      return match(field('ip', 'daddr'), `@${statement.set}`);
    case 'original-destination-in':
      return match({ ct: { key: 'ip daddr', dir: 'original' } }, `@${statement.set}`);
    case 'source-and-destination-in':
      return match({ concat: [field('ip', 'saddr'), field('ip', 'daddr')] }, `@${statement.set}`);
    case 'source-is-local':
      return match({ fib: { result: 'type', flags: ['saddr'] } }, 'local');
    default:
      return listedAction(statement);
  }
}

function listedAction(action: NftAction): unknown {
  switch (action.kind) {
    case 'dispatch':
      return { vmap: { key: { concat: [field('ip', 'daddr'), meta('l4proto'), field('th', 'dport')] }, data: `@${action.map}` } };
    case 'dnat-by-share':
      return { dnat: { family: 'ip', addr: { map: { key: { numgen: { mode: 'random', mod: action.modulus, offset: 0 } }, data: `@${action.map}` } } } };
    case 'counter':
      return { counter: {} };
    case 'named-counter':
      return { counter: action.counter };
    case 'reject':
      return { reject: action.with === 'tcp reset' ? { type: 'tcp reset' } : { type: 'icmp', expr: 'port-unreachable' } };
    case 'masquerade':
      return { masquerade: null };
    default:
      return assertNever(action);
  }
}

function listedFacts(listed: unknown): readonly Fact[] {
  const objects = isJson(listed) && Array.isArray(listed['nftables']) ? (listed['nftables'] as readonly unknown[]) : [];
  const ruleCounts = new Map<string, number>();
  return objects.flatMap((object) => (isJson(object) ? Object.entries(object) : [])).flatMap(([kind, value]) => (isJson(value) ? objectFacts(kind, value, ruleCounts) : []));
}

function objectFacts(kind: string, value: Json, ruleCounts: Map<string, number>): readonly Fact[] {
  const name = String(value['name']);
  switch (kind) {
    case 'metainfo':
    case 'table':
      return [];
    case 'set':
    case 'map':
      return [[`${kind} ${name}`, list(value['flags']).map(String).join()], ...list(value['elem']).map((element): Fact => [`element ${canonical(element)} of ${name}`, ''])];
    case 'chain':
      return [[`chain ${name}`, value['hook'] === undefined ? '' : [value['type'], value['hook'], value['prio'], value['policy']].map(String).join(' ')]];
    case 'rule': {
      const chain = String(value['chain']);
      const index = ruleCounts.get(chain) ?? 0;
      ruleCounts.set(chain, index + 1);
      return [[`rule ${index} of ${chain}`, canonical(value['expr'])]];
    }
    default:
      return [[`${kind} ${name}`, '']];
  }
}

// nft writes a list of one as the one.
const list = (value: unknown): readonly unknown[] => (value === undefined ? [] : Array.isArray(value) ? (value as readonly unknown[]) : [value]);
