import { assertNever } from '#domain/fleet';

import { AFFINITY_MAP, FLOWS_SET } from './names.js';
import type { NftAction, NftFamily, NftPacketField, NftProtocol, NftRule, NftStatement, NftUnit } from './nft-ruleset.js';
import { CALLER_FIELDS, FLOW_FIELDS, HASH_SEED, HASHED_FIELDS } from './render-nft-ruleset.js';

/** An object of nft's JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value of JSON is an object. */
export const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON text with sorted keys, without what changes by itself. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJson(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([key]) => key !== 'packets' && key !== 'bytes' && key !== 'handle');
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${key}:${canonicalJson(inner)}`)
    .join(',')}}`;
}

// What a rule's statements are listed in the light of.
interface Listing {
  readonly family: NftFamily;
  /** nft folds a match of the protocol into the port that is read behind it. */
  readonly protocol: NftProtocol | 'th';
}

/** A rule as `nft -j` lists it. */
export function listedRule(family: NftFamily, rule: NftRule): readonly unknown[] {
  const first = rule[0];
  const isFolded = first?.kind === 'protocol' && rule.some(readsPort);
  const listing: Listing = { family, protocol: isFolded ? first.is : 'th' };
  return (isFolded ? rule.slice(1) : rule).flatMap((statement) => ('unit' in statement && statement.unit === 'taken' ? withPriorityGivenBack(statement, listedStatement(listing, statement)) : [listedStatement(listing, statement)]));
}

function readsPort(statement: NftStatement): boolean {
  if ('fields' in statement) return statement.fields.includes('destination-port');
  return statement.kind === 'remember' || statement.kind === 'count-flow' || (statement.kind === 'take-unit' && statement.from === 'memory');
}

// A match comes before what it lets happen, a verdict behind it.
const withPriorityGivenBack = (statement: NftStatement, listed: unknown): readonly unknown[] => (statement.kind === 'dnat-by-share' ? [GIVE_BACK, listed] : [listed, GIVE_BACK]);

const match = (left: unknown, right: unknown, op = '=='): unknown => ({ match: { op, left, right } });
const mangle = (key: unknown, value: unknown): unknown => ({ mangle: { key, value } });
const meta = (key: string): unknown => ({ meta: { key } });
const GIVE_BACK = mangle(meta('priority'), 'none');
const fib = (flag: 'saddr' | 'daddr'): unknown => match({ fib: { result: 'type', flags: [flag] } }, 'local');

function listedStatement(listing: Listing, statement: NftStatement): unknown {
  switch (statement.kind) {
    case 'protocol':
      return match(meta('l4proto'), statement.is);
    case 'connection-new':
      return match({ ct: { key: 'state' } }, 'new', 'in');
    case 'connection-translated':
      return match({ ct: { key: 'status' } }, 'dnat', 'in');
    case 'in-set':
      return match(listedFields(listing, statement.fields), `@${statement.set}`);
    case 'not-in-set':
      return match(listedFields(listing, statement.fields), `@${statement.set}`, '!=');
    case 'source-is-local':
      return fib('saddr');
    case 'destination-is-local':
      return fib('daddr');
    case 'unit-of-owner':
      return match({ map: { key: listedUnit(listing, statement.unit, statement.modulus), data: `@${statement.map}` } }, `${hexWord(statement.owner)} [invalid type]`);
    default:
      return listedAction(listing, statement);
  }
}

function listedAction(listing: Listing, action: NftAction): unknown {
  switch (action.kind) {
    case 'dispatch':
      return { vmap: { key: listedFields(listing, action.fields), data: `@${action.map}` } };
    case 'goto':
      return { goto: { target: action.chain } };
    case 'remember':
      // The program has no JSON for it and prints its own language.
      return `update @${AFFINITY_MAP} { ${listing.family} saddr . ${listing.family} daddr . meta l4proto . ${listing.protocol} dport timeout ${nftDuration(action.timeoutSeconds)} : numgen random mod ${action.modulus} }`;
    case 'take-unit':
      return mangle(meta('priority'), listedTaken(listing, action));
    case 'dnat-by-share':
      return { dnat: { family: listing.family, addr: { map: { key: listedUnit(listing, action.unit, action.modulus), data: `@${action.map}` } } } };
    case 'count-flow':
      return { set: { op: 'update', elem: listedFields(listing, FLOW_FIELDS), set: `@${FLOWS_SET}`, stmt: [{ counter: null }] } };
    case 'named-counter':
      return { counter: action.counter };
    case 'reject':
      return { reject: REJECTS[action.with](listing.family) };
    case 'masquerade':
      return { masquerade: null };
    default:
      return assertNever(action);
  }
}

const REJECTS = {
  'tcp reset': () => ({ type: 'tcp reset' }),
  'port unreachable': (family: NftFamily) => ({ type: family === 'ip' ? 'icmp' : 'icmpv6', expr: 'port-unreachable' }),
} as const;

const listedTaken = (listing: Listing, { from, modulus }: Extract<NftAction, { readonly kind: 'take-unit' }>): unknown =>
  from === 'hash' ? listedUnit(listing, 'hashed', modulus) : { map: { key: listedFields(listing, CALLER_FIELDS), data: `@${AFFINITY_MAP}` } };

// As nft prints a time: `1h30m`.
function nftDuration(seconds: number): string {
  const parts = [
    ['d', Math.floor(seconds / 86_400)],
    ['h', Math.floor(seconds / 3_600) % 24],
    ['m', Math.floor(seconds / 60) % 60],
    ['s', seconds % 60],
  ] as const;
  return parts.map(([unit, count]) => (count === 0 ? '' : `${count}${unit}`)).join('');
}

// nft takes the answer of a map for a word of the network's order and knows no type for it.
function hexWord(value: number): string {
  const swapped = ((value & 0xff) << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24);
  return `0x${(swapped >>> 0).toString(16)}`;
}

function listedUnit(listing: Listing, unit: NftUnit, modulus: number): unknown {
  switch (unit) {
    case 'random':
      return { numgen: { mode: 'random', mod: modulus, offset: 0 } };
    case 'hashed':
      return { jhash: { mod: modulus, expr: listedFields(listing, HASHED_FIELDS), seed: HASH_SEED } };
    case 'taken':
      return meta('priority');
    default:
      return assertNever(unit);
  }
}

function listedFields({ family, protocol }: Listing, fields: readonly NftPacketField[]): unknown {
  const payload = (of: string, field: string): unknown => ({ payload: { protocol: of, field } });
  const original = (key: string): unknown => ({ ct: { key, dir: 'original' } });
  const texts: Readonly<Record<NftPacketField, unknown>> = {
    source: payload(family, 'saddr'),
    destination: payload(family, 'daddr'),
    protocol: meta('l4proto'),
    'destination-port': payload(protocol, 'dport'),
    'original-source': original(`${family} saddr`),
    'original-destination': original(`${family} daddr`),
    'original-destination-port': original('proto-dst'),
  };
  const listed = fields.map((field) => texts[field]);
  return listed.length === 1 ? listed[0] : { concat: listed };
}
