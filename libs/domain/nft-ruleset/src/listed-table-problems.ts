import type { Problem } from '#domain/fleet';

import { canonicalJson, isJson, listedRule, type Json } from './listed-rule.js';
import type { NftChain, NftFamily, NftTable } from './nft-ruleset.js';
import { elementParts, SET_LAYOUTS, setWord, type NftElementParts } from './set-layout.js';

/**
 * Compares what `nft -j list table FAMILY spillway` says with what we meant: every counter, set, map, chain, rule and element,
 * by an independent program's reading of the kernel. No problem means that they are the same. Handles, counts and what
 * packets fill in by themselves do not matter.
 */
export function listedTableProblems(listed: unknown, table: NftTable): readonly Problem[] {
  const want = new Map(wantedFacts(table));
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

const SHOWN_LENGTH_MAX = 400;
const shorten = (text: string): string => (text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
const problem = (path: string, code: string, message: string): Problem => ({ path, code, message: `${path} ${message}` });

function wantedFacts({ family, counters, sets, chains }: NftTable): readonly Fact[] {
  return [
    ...counters.map((name): Fact => [`counter ${name}`, '']),
    ...sets.flatMap((set): readonly Fact[] => {
      const { isInterval, dynamic } = SET_LAYOUTS[set.kind];
      const flags = dynamic === undefined ? (isInterval ? 'interval' : '') : `timeout size ${dynamic.size} timeout ${dynamic.timeoutSeconds}`;
      return [[`${setWord(set)} ${set.name}`, flags], ...elementParts(set).map((element): Fact => [`element ${canonicalJson(listedElement(element))} of ${set.name}`, ''])];
    }),
    ...chains.flatMap((chain): readonly Fact[] => [[`chain ${chain.name}`, hookFact(chain)], ...ruleFacts(family, chain)]),
  ];
}

const ruleFacts = (family: NftFamily, chain: NftChain): readonly Fact[] => chain.rules.map((rule, index): Fact => [`rule ${index} of ${chain.name}`, canonicalJson(listedRule(family, rule))]);

const hookFact = ({ hook }: NftChain): string => (hook === undefined ? '' : `${hook.type} ${hook.hook} ${hook.priority} accept`);

function listedElement({ key, to, data, goto }: NftElementParts): unknown {
  const keyJson = to === undefined ? one(key) : to === key[0] ? to : { range: [key[0], to] };
  if (goto !== undefined) return [keyJson, { goto: { target: goto } }];
  return data === undefined ? keyJson : [keyJson, one(data)];
}

const one = (values: readonly unknown[]): unknown => (values.length === 1 ? values[0] : { concat: values });

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
      return setFacts(kind, name, value);
    case 'chain':
      return [[`chain ${name}`, value['hook'] === undefined ? '' : [value['type'], value['hook'], value['prio'], value['policy']].map(String).join(' ')]];
    case 'rule': {
      const chain = String(value['chain']);
      const index = ruleCounts.get(chain) ?? 0;
      ruleCounts.set(chain, index + 1);
      return [[`rule ${index} of ${chain}`, canonicalJson(value['expr'])]];
    }
    default:
      return [[`${kind} ${name}`, '']];
  }
}

function setFacts(kind: string, name: string, value: Json): readonly Fact[] {
  const flags = list(value['flags']).map(String).sort().join();
  // The program lists no flag for what packets fill, but the time that goes with it.
  if (flags.includes('timeout')) return [[`${kind} ${name}`, `${flags} size ${String(value['size'])} timeout ${String(value['timeout'])}`]];
  return [[`${kind} ${name}`, flags], ...list(value['elem']).map((element): Fact => [`element ${canonicalJson(element)} of ${name}`, ''])];
}

// nft writes a list of one as the one.
const list = (value: unknown): readonly unknown[] => (value === undefined ? [] : Array.isArray(value) ? (value as readonly unknown[]) : [value]);
