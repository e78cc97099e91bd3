import type { Problem } from '#domain/fleet';

/**
 * The node's nftables tables as data and as text. Sets and chains are sorted by name, elements follow the plan's order, so
 * equal plans give equal rulesets.
 */
export interface NftRuleset {
  /** One table per address family that has something to carry; `ip` is always there, and first. */
  readonly tables: readonly NftTable[];
  /** What the plan asks for and these tables do not carry: such a listener must not be claimed as programmed. */
  readonly unsupported: readonly Problem[];
  /** The whole of it in nft's own language. Rendered when first read. */
  readonly text: string;
}

/** The only name of a table that Spillway writes, in either family. */
export const TABLE_NAME = 'spillway';

/** The kernel's word for IPv4 and for IPv6; maps and translations are of one family. */
export type NftFamily = 'ip' | 'ip6';

/** The families, in the order of a ruleset's tables. */
export const NFT_FAMILIES: readonly NftFamily[] = ['ip', 'ip6'];

/** What a connection is carried by. */
export type NftProtocol = 'tcp' | 'udp';

/** Our table of one family. */
export interface NftTable {
  readonly family: NftFamily;
  /** Names of the table's named counters. */
  readonly counters: readonly string[];
  /** Sets and maps; the kernel knows them under the one word "set". */
  readonly sets: readonly NftSet[];
  readonly chains: readonly NftChain[];
}

/** A base chain hangs on a hook; a chain without one is reached from a map of verdicts or another chain. */
export interface NftChain {
  readonly name: string;
  readonly hook?: NftHook;
  readonly rules: readonly NftRule[];
}

/** Where in the packet's way a base chain stands. Its policy is always accept. */
export interface NftHook {
  readonly type: 'nat' | 'filter';
  readonly hook: 'prerouting' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
}

/** Statements from left to right: the first match that fails ends the rule, a verdict ends the chain. */
export type NftRule = readonly NftStatement[];

/** One match or action: what the text says, the netlink adapter encodes and the tracer follows. */
export type NftStatement = NftMatch | NftAction;

/** A part of a packet that a set or map is asked about. `original-…`: as the connection's first packet had it, before translation. */
export type NftPacketField = 'source' | 'destination' | 'protocol' | 'destination-port' | 'original-source' | 'original-destination' | 'original-destination-port';

/** A condition on the packet; where it does not hold, the rule ends. Ports are read only behind a `protocol` match. */
export type NftMatch =
  | { readonly kind: 'protocol'; readonly is: NftProtocol }
  | { readonly kind: 'connection-new' }
  | { readonly kind: 'connection-translated' }
  | { readonly kind: 'in-set'; readonly fields: readonly NftPacketField[]; readonly set: string }
  | { readonly kind: 'not-in-set'; readonly fields: readonly NftPacketField[]; readonly set: string }
  | { readonly kind: 'source-is-local' }
  | { readonly kind: 'destination-is-local' }
  /** The unit leads to this owner. */
  | { readonly kind: 'unit-of-owner'; readonly unit: NftUnit; readonly map: string; readonly modulus: number; readonly owner: number };

/** What is done to the packet. A miss in a map ends the rule, as a match that does not hold. */
export type NftAction =
  | { readonly kind: 'dispatch'; readonly fields: readonly NftPacketField[]; readonly map: string }
  | { readonly kind: 'goto'; readonly chain: string }
  /** Draws a unit for a caller that has none, and begins its time anew in any case. Ends the rule where no more can be remembered. */
  | { readonly kind: 'remember'; readonly modulus: number; readonly timeoutSeconds: number }
  /** Takes a unit for the rules behind: what is remembered of the caller, or what its hash gives. Ends the rule where nothing is remembered. */
  | { readonly kind: 'take-unit'; readonly from: 'hash' | 'memory'; readonly modulus: number }
  | { readonly kind: 'dnat-by-share'; readonly unit: NftUnit; readonly map: string; readonly modulus: number }
  | { readonly kind: 'count-flow' }
  | { readonly kind: 'named-counter'; readonly counter: string }
  | { readonly kind: 'reject'; readonly with: 'tcp reset' | 'port unreachable' }
  | { readonly kind: 'masquerade' };

/**
 * Where a unit of a modulus comes from: drawn anew, computed from the caller's address and the one that it calls, or taken by
 * a rule before. What is taken travels in the packet's priority, the one field that nobody reads before it is forwarded and
 * that forwarding sets itself: nft 1.0.6 ends in an assertion when it lists a map that is asked with another map's answer.
 */
export type NftUnit = 'random' | 'hashed' | 'taken';

/** A set or map of a table, by what its elements are. */
export type NftSet = NftAddressSet | NftSocketSet | NftVerdictMap | NftPortVerdictMap | NftUnitMap | NftDynamicSet;

/** A set of addresses, or of (address, same address) pairs: nftables cannot compare two fields of a packet with each other. */
export interface NftAddressSet {
  readonly kind: 'addresses' | 'pairs';
  readonly name: string;
  readonly elements: readonly string[];
}

/** A set of `address . protocol . port`. */
export interface NftSocketSet {
  readonly kind: 'sockets';
  readonly name: string;
  readonly elements: readonly NftSocket[];
}

/** One address and port of one protocol. */
export interface NftSocket {
  readonly address: string;
  readonly protocol: NftProtocol;
  readonly port: number;
}

/** `address . protocol . port → goto chain`. */
export interface NftVerdictMap {
  readonly kind: 'verdicts';
  readonly name: string;
  readonly elements: readonly NftVerdictElement[];
}

/** One front-end address and port, and the chain that decides over its connections. */
export interface NftVerdictElement extends NftSocket {
  readonly chain: string;
}

/** `protocol . port → goto chain`. */
export interface NftPortVerdictMap {
  readonly kind: 'port-verdicts';
  readonly name: string;
  readonly elements: readonly NftPortVerdictElement[];
}

/** One port of the node itself, and the chain that decides over its connections. */
export interface NftPortVerdictElement {
  readonly protocol: NftProtocol;
  readonly port: number;
  readonly chain: string;
}

/** A map of intervals over 0..modulus−1. What no interval covers is refused. */
export type NftUnitMap = NftShareMap | NftOwnerMap;

/** Intervals of units → endpoint. */
export interface NftShareMap {
  readonly kind: 'shares';
  readonly name: string;
  readonly protocol: NftProtocol;
  readonly modulus: number;
  /** Units left unmapped on purpose; mapped and rejected units make up the modulus. */
  readonly rejectedUnits: number;
  /** Sorted by `from`. */
  readonly elements: readonly NftShareElement[];
}

/** The units `from`..`to`, both included, lead to one endpoint. */
export interface NftShareElement {
  readonly from: number;
  readonly to: number;
  readonly address: string;
  readonly port: number;
}

/** Intervals of units → the number of whom they belong to: one provider of one backend. */
export interface NftOwnerMap {
  readonly kind: 'owners';
  readonly name: string;
  readonly modulus: number;
  readonly rejectedUnits: number;
  /** Sorted by `from`. */
  readonly elements: readonly NftOwnerElement[];
}

/** The units `from`..`to`, both included, belong to one owner. */
export interface NftOwnerElement {
  readonly from: number;
  readonly to: number;
  readonly owner: number;
}

/**
 * What packets fill by themselves, never we: `memory` maps (caller, address, protocol, port) → unit, each element for as
 * long as its rule said; `flows` counts new connections by (address, protocol, port, endpoint, endpoint's port).
 */
export interface NftDynamicSet {
  readonly kind: 'memory' | 'flows';
  readonly name: string;
  readonly elements: readonly [];
}
