import type { NftAffinityWay } from './build-options.js';
import { GATEWAY_BASE, PLAIN_BASE } from './base-chains.js';
import type { BuiltListener } from './built-listener.js';
import type { FamilyClaims } from './claims.js';
import type { BuiltGateway } from './gateway-tables.js';
import {
  AFFINITY_MAP,
  FLOWS_SET,
  FRONTENDS_MAP,
  GAPS_COUNTER,
  GATEWAY_PORTS_MAP,
  GATEWAY_SOURCES_SET,
  GATEWAYS_SET,
  HAIRPINS_SET,
  LISTENERS_SET,
  REFUSING_SET,
  REJECTED_COUNTER,
  VIPS_SET,
} from './names.js';
import type { NftAddressSet, NftChain, NftFamily, NftSet, NftSocket, NftSocketSet, NftTable } from './nft-ruleset.js';

/** What one family's table is put together from. */
export interface FamilyParts {
  readonly family: NftFamily;
  readonly claims: FamilyClaims;
  /** In the order of the claims. */
  readonly listeners: readonly BuiltListener[];
  readonly gateway: BuiltGateway;
  readonly affinity: NftAffinityWay;
}

/** A table and what it was put together from. */
export interface AssembledTable {
  readonly parts: FamilyParts;
  readonly table: NftTable;
}

const COUNTERS: readonly string[] = [GAPS_COUNTER, REJECTED_COUNTER];

/** Puts a table together; of one that differs in the content of a few maps alone only those are made anew. */
export function assembleTable(parts: FamilyParts, previous: AssembledTable | undefined): NftTable {
  const collected = collect(parts, previous);
  const table = (previous === undefined ? undefined : patched(parts, collected, previous)) ?? wholeTable(parts, collected);
  collections.set(table, collected);
  return table;
}

/** What the listeners of a table have in common, as sets. */
interface Collected {
  readonly hairpins: NftAddressSet;
  readonly gateways: NftSocketSet;
  readonly refusing: NftSocketSet;
}

const collections = new WeakMap<NftTable, Collected>();

function collect(parts: FamilyParts, previous: AssembledTable | undefined): Collected {
  const known = previous === undefined ? undefined : collections.get(previous.table);
  const before = previous?.parts.listeners;
  // A set is made anew only where a listener's part of it changed; mostly none did.
  const isSame = (isSameIn: (a: BuiltListener, b: BuiltListener) => boolean): boolean =>
    before?.length === parts.listeners.length && parts.listeners.every((now, index) => now === before[index] || (before[index] !== undefined && now.claim.suffix === before[index].claim.suffix && isSameIn(now, before[index])));
  const { listeners } = parts;
  return {
    hairpins: known !== undefined && isSame((a, b) => a.hairpins.join() === b.hairpins.join()) ? known.hairpins : { kind: 'pairs', name: HAIRPINS_SET, elements: [...new Set(listeners.flatMap(({ hairpins }) => hairpins))] },
    gateways: known !== undefined && isSame((a, b) => a.gateways.map(socketKey).join() === b.gateways.map(socketKey).join()) ? known.gateways : { kind: 'sockets', name: GATEWAYS_SET, elements: uniqueSockets(listeners.flatMap(({ gateways }) => gateways)) },
    refusing: known !== undefined && isSame((a, b) => a.isRefusing === b.isRefusing && a.claim.sockets === b.claim.sockets) ? known.refusing : { kind: 'sockets', name: REFUSING_SET, elements: uniqueSockets(listeners.flatMap(({ isRefusing, claim }) => (isRefusing ? claim.sockets : []))) },
  };
}

const socketKey = ({ address, protocol, port }: NftSocket): string => `${address} ${protocol} ${port}`;
const uniqueSockets = (sockets: readonly NftSocket[]): readonly NftSocket[] => [...new Map(sockets.map((socket) => [socketKey(socket), socket])).values()];

const mapsOf = ({ owners, shares }: BuiltListener): readonly NftSet[] => (owners === undefined ? shares : [owners, ...shares]);

// Undefined where more than the content of maps changed.
function patched(parts: FamilyParts, collected: Collected, { parts: before, table }: AssembledTable): NftTable | undefined {
  if (parts.claims !== before.claims || parts.affinity !== before.affinity || !isSameGateway(parts.gateway, before.gateway)) return undefined;
  const renewed = new Map<string, NftSet>();
  for (let index = 0; index < parts.listeners.length; index += 1) {
    const now = parts.listeners[index];
    const old = before.listeners[index];
    if (now === old || now === undefined) continue;
    if (old === undefined || !hasSameNames(now, old)) return undefined;
    for (const map of mapsOf(now)) renewed.set(map.name, map);
  }
  for (const set of [collected.hairpins, collected.gateways, collected.refusing]) renewed.set(set.name, set);
  for (const map of parts.gateway.shares) renewed.set(map.name, map);
  return { ...table, sets: replaced(table.sets, renewed) };
}

const hasSameNames = (now: BuiltListener, old: BuiltListener): boolean =>
  now.chain === old.chain &&
  mapsOf(now)
    .map(({ name }) => name)
    .join() ===
    mapsOf(old)
      .map(({ name }) => name)
      .join();

// Names stand sorted, and what is replaced is little: looked up by halving.
function replaced(sets: readonly NftSet[], renewed: ReadonlyMap<string, NftSet>): readonly NftSet[] {
  const result = [...sets];
  for (const [name, set] of renewed) {
    const index = indexOfName(result, name);
    if (index !== undefined) result[index] = set;
  }
  return result;
}

function indexOfName(sets: readonly NftSet[], name: string): number | undefined {
  let low = 0;
  let high = sets.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = sets[middle]?.name ?? '';
    if (found === name) return middle;
    if (found < name) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

const isSameGateway = (a: BuiltGateway, b: BuiltGateway): boolean => (a.verdicts.length === 0 && b.verdicts.length === 0) || JSON.stringify([a.verdicts, a.sources]) === JSON.stringify([b.verdicts, b.sources]);

// Each group in the order of its names, and the groups too, so that nothing has to be sorted.
function wholeTable(parts: FamilyParts, collected: Collected): NftTable {
  const { claims, listeners, gateway, family } = parts;
  const isGateway = gateway.verdicts.length > 0;
  const base = isGateway ? GATEWAY_BASE : PLAIN_BASE;
  const sets: readonly NftSet[] = [
    ...(parts.affinity === 'timed' ? [{ kind: 'memory', name: AFFINITY_MAP, elements: [] } as const] : []),
    ...claims.callerSets,
    { kind: 'flows', name: FLOWS_SET, elements: [] },
    { kind: 'verdicts', name: FRONTENDS_MAP, elements: claims.verdicts },
    ...(isGateway ? gatewaySets(gateway) : []),
    collected.gateways,
    collected.hairpins,
    { kind: 'sockets', name: LISTENERS_SET, elements: claims.sockets },
    ...listeners.flatMap(({ owners }) => (owners === undefined ? [] : [owners])),
    collected.refusing,
    ...listeners.flatMap(({ shares }) => shares),
    { kind: 'addresses', name: VIPS_SET, elements: claims.vips },
  ];
  const chains: readonly NftChain[] = [...claims.dispatchChains, ...base.filter, ...gateway.chains, ...listeners.map(({ chain }) => chain), ...base.nat, ...base.ends];
  return { family, counters: COUNTERS, sets, chains };
}

const gatewaySets = (gateway: BuiltGateway): readonly NftSet[] => [
  { kind: 'port-verdicts', name: GATEWAY_PORTS_MAP, elements: gateway.verdicts },
  ...gateway.shares,
  { kind: 'sockets', name: GATEWAY_SOURCES_SET, elements: gateway.sources },
];
