import { assertNever } from '#domain/fleet';

import type { NftFamily, NftProtocol, NftSet } from './nft-ruleset.js';

/** What one part of a key or value is. */
export type NftFieldKind = 'address' | 'protocol' | 'port' | 'unit' | 'mark';

/** What a set or map of a kind holds, and how it is kept. */
export interface NftSetLayout {
  readonly key: readonly NftFieldKind[];
  readonly data: readonly NftFieldKind[] | 'verdict' | undefined;
  /** Keys are intervals of units. */
  readonly isInterval: boolean;
  /** Packets fill it: at most so many elements, and an element's time where no rule says another. */
  readonly dynamic: { readonly size: number; readonly timeoutSeconds: number } | undefined;
}

const layout = (key: readonly NftFieldKind[], data?: NftSetLayout['data']): NftSetLayout => ({ key, data, isInterval: key[0] === 'unit', dynamic: undefined });

/** The layout of each kind of set. */
export const SET_LAYOUTS: Readonly<Record<NftSet['kind'], NftSetLayout>> = {
  addresses: layout(['address']),
  pairs: layout(['address', 'address']),
  sockets: layout(['address', 'protocol', 'port']),
  verdicts: layout(['address', 'protocol', 'port'], 'verdict'),
  'port-verdicts': layout(['protocol', 'port'], 'verdict'),
  shares: layout(['unit'], ['address', 'port']),
  owners: layout(['unit'], ['mark']),
  // Some 30 MB at the most. A client that finds it full is told apart by a hash instead.
  memory: { ...layout(['address', 'address', 'protocol', 'port'], ['mark']), dynamic: { size: 262_144, timeoutSeconds: 10_800 } },
  // Counts are read every few seconds; an hour without a connection makes room for others.
  flows: { ...layout(['address', 'protocol', 'port', 'address', 'port']), dynamic: { size: 262_144, timeoutSeconds: 3_600 } },
};

/** A part of an element: an address or protocol by its text, a port, unit or mark by its number. */
export type NftFieldValue = string | number;

/** An element by its parts, whatever set it is of. */
export interface NftElementParts {
  readonly key: readonly NftFieldValue[];
  /** The last unit of an interval whose first one is the key. */
  readonly to?: number;
  readonly data?: readonly NftFieldValue[];
  readonly goto?: string;
}

/** The elements of a set by their parts, in their order. */
export function elementParts(set: NftSet): readonly NftElementParts[] {
  switch (set.kind) {
    case 'addresses':
      return set.elements.map((address) => ({ key: [address] }));
    case 'pairs':
      return set.elements.map((address) => ({ key: [address, address] }));
    case 'sockets':
      return set.elements.map(({ address, protocol, port }) => ({ key: [address, protocol, port] }));
    case 'verdicts':
      return set.elements.map(({ address, protocol, port, chain }) => ({ key: [address, protocol, port], goto: chain }));
    case 'port-verdicts':
      return set.elements.map(({ protocol, port, chain }) => ({ key: [protocol, port], goto: chain }));
    case 'shares':
      return set.elements.map(({ from, to, address, port }) => ({ key: [from], to, data: [address, port] }));
    case 'owners':
      return set.elements.map(({ from, to, owner }) => ({ key: [from], to, data: [owner] }));
    case 'memory':
    case 'flows':
      return set.elements;
    default:
      return assertNever(set);
  }
}

/** Puts elements that were read by their parts back into a set of their kind. The inverse of {@link elementParts}. */
export function setOfParts(kind: NftSet['kind'], name: string, read: { readonly parts: readonly NftElementParts[]; readonly modulus: number; readonly protocol: NftProtocol }): NftSet {
  const { parts, modulus, protocol } = read;
  switch (kind) {
    case 'addresses':
    case 'pairs':
      return { kind, name, elements: parts.map(({ key }) => String(key[0])) };
    case 'sockets':
      return { kind, name, elements: parts.map(({ key }) => socketOf(key)) };
    case 'verdicts':
      return { kind, name, elements: parts.map(({ key, goto }) => ({ ...socketOf(key), chain: goto ?? '' })) };
    case 'port-verdicts':
      return { kind, name, elements: parts.map(({ key, goto }) => ({ protocol: protocolOf(key[0]), port: Number(key[1]), chain: goto ?? '' })) };
    case 'shares': {
      const elements = parts.map(({ key, to, data }) => ({ from: Number(key[0]), to: to ?? 0, address: String(data?.[0]), port: Number(data?.[1]) }));
      return { kind, name, protocol, modulus, rejectedUnits: modulus - coveredUnits(elements), elements };
    }
    case 'owners': {
      const elements = parts.map(({ key, to, data }) => ({ from: Number(key[0]), to: to ?? 0, owner: Number(data?.[0]) }));
      return { kind, name, modulus, rejectedUnits: modulus - coveredUnits(elements), elements };
    }
    case 'memory':
    case 'flows':
      return { kind, name, elements: [] };
    default:
      return assertNever(kind);
  }
}

const protocolOf = (value: NftFieldValue | undefined): NftProtocol => (value === 'udp' ? 'udp' : 'tcp');
const socketOf = (key: readonly NftFieldValue[]): { readonly address: string; readonly protocol: NftProtocol; readonly port: number } => ({ address: String(key[0]), protocol: protocolOf(key[1]), port: Number(key[2]) });

/** How many units a map's intervals cover. */
export const coveredUnits = (elements: readonly { readonly from: number; readonly to: number }[]): number => elements.reduce((sum, { from, to }) => sum + to - from + 1, 0);

/** nft's word for a set that holds data beside its keys is map. */
export const setWord = ({ kind }: NftSet): 'set' | 'map' => (SET_LAYOUTS[kind].data === undefined ? 'set' : 'map');

/** nft's names of the types of a family's fields. */
export const fieldTypes = (family: NftFamily): Readonly<Record<Exclude<NftFieldKind, 'unit'>, string>> => ({
  address: family === 'ip' ? 'ipv4_addr' : 'ipv6_addr',
  protocol: 'inet_proto',
  port: 'inet_service',
  mark: 'mark',
});
