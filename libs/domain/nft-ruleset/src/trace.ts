import { assertNever } from '#domain/fleet';

import type { NftAction, NftChain, NftHook, NftRuleset, NftSet, NftStatement } from './nft-ruleset.js';

/** The first packet of a connection, as it enters a node's network stack. */
export interface TracedPacket {
  /** `prerouting`: from a pod or from outside, forwarded. `output`: from a process in the node's own namespace. */
  readonly hook: 'prerouting' | 'output';
  readonly src: string;
  readonly dst: string;
  readonly protocol: 'tcp' | 'udp';
  readonly dport: number;
  /** The random number that numgen draws, 0 ≤ random < 1. */
  readonly random: number;
}

/** What becomes of a packet. `untouched`: nothing in our table applies to it. */
export type TraceVerdict =
  | { readonly verdict: 'dnat'; readonly to: string; readonly masquerade: boolean }
  | { readonly verdict: 'reject'; readonly with: 'tcp reset' | 'port unreachable' }
  | { readonly verdict: 'untouched' };

/** Follows a packet through the table's base chains in the kernel's order, and says where it ends. */
export function tracePacket(ruleset: NftRuleset, packet: TracedPacket): TraceVerdict {
  const way: Way = { ruleset, packet, dst: packet.dst, dport: packet.dport, masquerade: false };
  const filterHook = packet.hook === 'output' ? 'output' : 'forward';
  const steps: readonly (readonly [NftHook['type'], NftHook['hook']])[] = [
    ['nat', packet.hook],
    ['filter', filterHook],
    ['nat', 'postrouting'],
  ];
  for (const [type, hook] of steps) {
    const end = runHook(way, type, hook);
    if (end.kind === 'reject') return { verdict: 'reject', with: end.with };
    if (end.kind === 'dnat') Object.assign(way, { dst: end.address, dport: end.port });
    if (end.kind === 'masquerade') way.masquerade = true;
  }
  const isTranslated = way.dst !== packet.dst || way.dport !== packet.dport;
  return isTranslated ? { verdict: 'dnat', to: `${way.dst}:${way.dport}`, masquerade: way.masquerade } : { verdict: 'untouched' };
}

interface Way {
  readonly ruleset: NftRuleset;
  readonly packet: TracedPacket;
  dst: string;
  dport: number;
  masquerade: boolean;
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
  const base = way.ruleset.chains.filter((chain) => chain.hook?.type === type && chain.hook.hook === hook);
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
    const target = way.ruleset.chains.find(({ name }) => name === step.goto);
    return target === undefined ? ACCEPT : runChain(way, target);
  }
  return ACCEPT;
}

function runRule(way: Way, rule: readonly NftStatement[]): Step {
  for (const statement of rule) {
    const step = runStatement(way, statement);
    if (step !== 'next') return step;
  }
  return 'next';
}

function runStatement(way: Way, statement: NftStatement): Step {
  switch (statement.kind) {
    case 'protocol-tcp':
      return nextIf(way.packet.protocol === 'tcp');
    case 'connection-new':
      return 'next';
    case 'destination-in':
      return nextIf(isIn(way, statement.set, way.dst));
    case 'original-destination-in':
      return nextIf(isIn(way, statement.set, way.packet.dst));
    case 'source-and-destination-in':
      return nextIf(way.packet.src === way.dst && isIn(way, statement.set, way.dst));
    case 'source-is-local':
      return nextIf(way.packet.hook === 'output');
    default:
      return runAction(way, statement);
  }
}

function runAction(way: Way, action: NftAction): Step {
  switch (action.kind) {
    case 'counter':
    case 'named-counter':
      return 'next';
    case 'dispatch':
      return dispatch(way, action.map);
    case 'dnat-by-share':
      return draw(way, action.map, Math.floor(way.packet.random * action.modulus));
    case 'reject':
      return { kind: 'reject', with: action.with };
    case 'masquerade':
      return { kind: 'masquerade' };
    default:
      return assertNever(action);
  }
}

const nextIf = (matches: boolean): Step => (matches ? 'next' : 'break');

const findSet = (way: Way, name: string): NftSet | undefined => way.ruleset.sets.find((set) => set.name === name);

function isIn(way: Way, name: string, address: string): boolean {
  const set = findSet(way, name);
  return set !== undefined && (set.kind === 'addresses' || set.kind === 'pairs') && set.elements.includes(address);
}

function dispatch(way: Way, name: string): Step {
  const map = findSet(way, name);
  if (map?.kind !== 'verdicts') return 'break';
  const { protocol } = way.packet;
  const hit = map.elements.find((element) => element.address === way.dst && element.protocol === protocol && element.port === way.dport);
  return hit === undefined ? 'break' : { goto: hit.chain };
}

function draw(way: Way, name: string, unit: number): Step {
  const map = findSet(way, name);
  if (map?.kind !== 'shares') return 'break';
  const hit = map.elements.find(({ from, to }) => from <= unit && unit <= to);
  return hit === undefined ? 'break' : { kind: 'dnat', address: hit.address, port: hit.port };
}
