import { assertNever } from '#domain/fleet';

import { isOfFamily } from './address-family.js';
import type { NftAction, NftChain, NftHook, NftMatch, NftPacketField, NftProtocol, NftRule, NftRuleset, NftSet, NftStatement, NftTable, NftUnit } from './nft-ruleset.js';
import { elementParts } from './set-layout.js';

/** The first packet of a connection, as it enters a node's network stack, and what the node knows of its caller. */
export interface TracedPacket {
  /** `prerouting`: from a pod or from outside, forwarded. `output`: from a process in the node's own namespace. */
  readonly hook: 'prerouting' | 'output';
  readonly src: string;
  readonly dst: string;
  readonly protocol: NftProtocol;
  readonly dport: number;
  /** The random number that every draw of numgen gives, 0 ≤ random < 1. */
  readonly random: number;
  /** The number that the hash of the caller gives, 0 ≤ hashed < 1; 0 where nothing is said. */
  readonly hashed?: number;
  /** The unit that is remembered of the caller, or that no more can be remembered; undefined: the memory has room. */
  readonly memory?: number | 'full';
  /** The node's own addresses. */
  readonly localAddresses?: readonly string[];
}

/** What becomes of a packet. `untouched`: nothing in our tables applies to it. `isGap`: refused by a fault of ours. */
export type TraceVerdict =
  | { readonly verdict: 'dnat'; readonly to: string; readonly masquerade: boolean }
  | { readonly verdict: 'reject'; readonly with: 'tcp reset' | 'port unreachable'; readonly isGap?: true }
  | { readonly verdict: 'untouched' };

/** Follows a packet through its family's base chains in the kernel's order, and says where it ends. */
export function tracePacket(ruleset: Pick<NftRuleset, 'tables'>, packet: TracedPacket): TraceVerdict {
  const table = ruleset.tables.find(({ family }) => isOfFamily(packet.dst, family));
  if (table === undefined) return { verdict: 'untouched' };
  const way: Way = { table, packet, dst: packet.dst, dport: packet.dport, memory: typeof packet.memory === 'number' ? packet.memory : undefined, taken: undefined, isGap: false, isMasqueraded: false };
  const steps: readonly (readonly [NftHook['type'], NftHook['hook']])[] = [
    ['nat', packet.hook],
    ['filter', packet.hook === 'output' ? 'output' : 'forward'],
    ['nat', 'postrouting'],
  ];
  for (const [type, hook] of steps) {
    const end = runHook(way, type, hook);
    if (end.kind === 'reject') return { verdict: 'reject', with: end.with, ...(way.isGap ? { isGap: true } : {}) };
    if (end.kind === 'dnat') Object.assign(way, { dst: end.address, dport: end.port });
    if (end.kind === 'masquerade') way.isMasqueraded = true;
  }
  const isTranslated = way.dst !== packet.dst || way.dport !== packet.dport;
  return isTranslated ? { verdict: 'dnat', to: way.dst.includes(':') ? `[${way.dst}]:${way.dport}` : `${way.dst}:${way.dport}`, masquerade: way.isMasqueraded } : { verdict: 'untouched' };
}

interface Way {
  readonly table: NftTable;
  readonly packet: TracedPacket;
  dst: string;
  dport: number;
  /** What is remembered of the caller. */
  memory: number | undefined;
  taken: number | undefined;
  isGap: boolean;
  isMasqueraded: boolean;
}

type End =
  | { readonly kind: 'accept' }
  | { readonly kind: 'reject'; readonly with: 'tcp reset' | 'port unreachable' }
  | { readonly kind: 'dnat'; readonly address: string; readonly port: number }
  | { readonly kind: 'masquerade' };

// What a statement does with the packet: go on in the rule, leave the rule, jump away for good, or end.
type Step = 'next' | 'break' | { readonly goto: string } | End;

const ACCEPT: End = { kind: 'accept' };

function runHook(way: Way, type: NftHook['type'], hook: NftHook['hook']): End {
  const base = way.table.chains.filter((chain) => chain.hook?.type === type && chain.hook.hook === hook);
  for (const chain of [...base].sort((a, b) => (a.hook?.priority ?? 0) - (b.hook?.priority ?? 0))) {
    const end = runChain(way, chain);
    if (end.kind !== 'accept') return end;
  }
  return ACCEPT;
}

function runChain(way: Way, chain: NftChain): End {
  for (const rule of chain.rules) {
    const step = runRule(way, rule);
    if (step === 'next' || step === 'break') continue;
    if (!('goto' in step)) return step;
    const target = way.table.chains.find(({ name }) => name === step.goto);
    return target === undefined ? ACCEPT : runChain(way, target);
  }
  return ACCEPT;
}

function runRule(way: Way, rule: NftRule): Step {
  for (const statement of rule) {
    const step = isMatch(statement) ? nextIf(matches(way, statement)) : runAction(way, statement);
    if (step !== 'next') return step;
  }
  return 'next';
}

const MATCHES: ReadonlySet<string> = new Set<NftMatch['kind']>(['protocol', 'connection-new', 'connection-translated', 'in-set', 'not-in-set', 'source-is-local', 'destination-is-local', 'unit-of-owner']);
const isMatch = (statement: NftStatement): statement is NftMatch => MATCHES.has(statement.kind);
const nextIf = (holds: boolean): Step => (holds ? 'next' : 'break');

function matches(way: Way, match: NftMatch): boolean {
  const { packet } = way;
  switch (match.kind) {
    case 'protocol':
      return packet.protocol === match.is;
    case 'connection-new':
      return true;
    case 'connection-translated':
      return way.dst !== packet.dst || way.dport !== packet.dport;
    case 'in-set':
      return find(way, match.set, match.fields) !== undefined;
    case 'not-in-set':
      return find(way, match.set, match.fields) === undefined;
    case 'source-is-local':
      return packet.hook === 'output' || isLocal(packet, packet.src);
    case 'destination-is-local':
      return isLocal(packet, way.dst);
    case 'unit-of-owner':
      return ownerAt(way, match) === match.owner;
    default:
      return assertNever(match);
  }
}

function runAction(way: Way, action: NftAction): Step {
  switch (action.kind) {
    case 'count-flow':
      return 'next';
    case 'named-counter':
      way.isGap ||= action.counter === 'gaps';
      return 'next';
    case 'goto':
      return { goto: action.chain };
    case 'dispatch':
      return dispatch(way, action);
    case 'remember':
      return remember(way, action.modulus);
    case 'take-unit':
      return takeUnit(way, action);
    case 'dnat-by-share':
      return draw(way, action);
    case 'reject':
      return { kind: 'reject', with: action.with };
    case 'masquerade':
      return { kind: 'masquerade' };
    default:
      return assertNever(action);
  }
}

type Action<Kind extends NftAction['kind']> = Extract<NftAction, { readonly kind: Kind }>;

function dispatch(way: Way, { map, fields }: Action<'dispatch'>): Step {
  const chain = find(way, map, fields)?.goto;
  return chain === undefined ? 'break' : { goto: chain };
}

function remember(way: Way, modulus: number): Step {
  if (way.packet.memory === 'full') return 'break';
  way.memory ??= Math.floor(way.packet.random * modulus);
  return 'next';
}

function takeUnit(way: Way, { from, modulus }: Action<'take-unit'>): Step {
  const unit = from === 'hash' ? unitOf(way, 'hashed', modulus) : way.memory;
  way.taken = unit ?? way.taken;
  return nextIf(unit !== undefined);
}

function draw(way: Way, { map: name, unit: kind, modulus }: Action<'dnat-by-share'>): Step {
  const map = findSet(way, name);
  const unit = unitOf(way, kind, modulus);
  const hit = map?.kind === 'shares' && unit !== undefined ? map.elements.find(({ from, to }) => from <= unit && unit <= to) : undefined;
  return hit === undefined ? 'break' : { kind: 'dnat', address: hit.address, port: hit.port };
}

const isLocal = ({ localAddresses }: TracedPacket, address: string): boolean => localAddresses?.includes(address) === true;

const findSet = (way: Way, name: string): NftSet | undefined => way.table.sets.find((set) => set.name === name);

function unitOf(way: Way, unit: NftUnit, modulus: number): number | undefined {
  if (unit === 'taken') return way.taken;
  return Math.floor((unit === 'random' ? way.packet.random : (way.packet.hashed ?? 0)) * modulus);
}

function ownerAt(way: Way, { map: name, unit, modulus }: Extract<NftMatch, { readonly kind: 'unit-of-owner' }>): number | undefined {
  const map = findSet(way, name);
  const drawn = unitOf(way, unit, modulus);
  return map?.kind === 'owners' && drawn !== undefined ? map.elements.find(({ from, to }) => from <= drawn && drawn <= to)?.owner : undefined;
}

function find(way: Way, name: string, fields: readonly NftPacketField[]): ReturnType<typeof elementParts>[number] | undefined {
  const set = findSet(way, name);
  const key = fields.map((field) => fieldOf(way, field)).join(' ');
  return set === undefined ? undefined : elementParts(set).find((element) => element.key.join(' ') === key);
}

function fieldOf(way: Way, field: NftPacketField): string | number {
  const { packet } = way;
  switch (field) {
    case 'source':
    case 'original-source':
      return packet.src;
    case 'destination':
      return way.dst;
    case 'original-destination':
      return packet.dst;
    case 'protocol':
      return packet.protocol;
    case 'destination-port':
      return way.dport;
    case 'original-destination-port':
      return packet.dport;
    default:
      return assertNever(field);
  }
}
