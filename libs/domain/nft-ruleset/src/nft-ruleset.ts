import type { Problem } from '#domain/fleet';

/**
 * The node's nftables table as data and as text. Sets and chains are sorted by name, elements follow the plan's order, so
 * equal plans give equal rulesets.
 */
export interface NftRuleset {
  readonly family: 'ip';
  readonly table: typeof TABLE_NAME;
  /** Names of the table's named counters. */
  readonly counters: readonly string[];
  /** Sets and maps; the kernel knows them under the one word "set". */
  readonly sets: readonly NftSet[];
  readonly chains: readonly NftChain[];
  /** What the plan asks for and this table does not carry: such a listener must not be claimed as programmed. */
  readonly unsupported: readonly Problem[];
  /** The whole table in nft's own language, loadable with `nft -f`. Rendered when first read. */
  readonly text: string;
}

/** The only table that Spillway writes. */
export const TABLE_NAME = 'spillway';

/** A base chain hangs on a hook; a chain without one is reached from the verdict map. */
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

/** A condition on the packet; where it does not hold, the rule ends. */
export type NftMatch =
  | { readonly kind: 'protocol-tcp' }
  | { readonly kind: 'connection-new' }
  | { readonly kind: 'destination-in'; readonly set: string }
  | { readonly kind: 'original-destination-in'; readonly set: string }
  | { readonly kind: 'source-and-destination-in'; readonly set: string }
  | { readonly kind: 'source-is-local' };

/** What is done to the packet. A miss in a map ends the rule, as a match that does not hold. */
export type NftAction =
  | { readonly kind: 'dispatch'; readonly map: string }
  | { readonly kind: 'dnat-by-share'; readonly map: string; readonly modulus: number }
  | { readonly kind: 'counter' }
  | { readonly kind: 'named-counter'; readonly counter: string }
  | { readonly kind: 'reject'; readonly with: 'tcp reset' | 'port unreachable' }
  | { readonly kind: 'masquerade' };

/** A set or map of the table, by what its elements are. */
export type NftSet = NftAddressSet | NftPairSet | NftVerdictMap | NftShareMap;

/** A set of addresses. */
export interface NftAddressSet {
  readonly kind: 'addresses';
  readonly name: string;
  readonly elements: readonly string[];
}

/** A set of (address, same address) pairs: nftables cannot compare two fields of a packet with each other. */
export interface NftPairSet {
  readonly kind: 'pairs';
  readonly name: string;
  readonly elements: readonly string[];
}

/** `address . protocol . port → goto chain`. */
export interface NftVerdictMap {
  readonly kind: 'verdicts';
  readonly name: string;
  readonly elements: readonly NftVerdictElement[];
}

/** One front-end address and port, and the chain that decides over its connections. */
export interface NftVerdictElement {
  readonly address: string;
  readonly protocol: 'tcp';
  readonly port: number;
  readonly chain: string;
}

/** Intervals over 0..modulus−1 → endpoint. What no interval covers is refused. */
export interface NftShareMap {
  readonly kind: 'shares';
  readonly name: string;
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
