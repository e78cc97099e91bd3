import type { NftAffinityWay, NftFlow, NftRuleset, NftShareMaps } from '#domain/nft-ruleset';

/** What is in the kernel, as the last apply left it. */
export interface NftApplied {
  /** Kernel operations sent, for the metric of work per change. */
  readonly operations: number;
  readonly durationMs: number;
}

/** The node's own nftables tables `spillway`, one per address family. One writer; never touches another table. */
export abstract class Nft {
  /** What this way to the kernel can say of affinity: for rulesets that are built for it. */
  abstract readonly affinity: NftAffinityWay;
  /**
   * Makes the kernel hold exactly this ruleset, in one transaction: all of it or nothing. Level-triggered: the adapter
   * diffs against what it knows to be in the kernel. Throws FleetError NFT_REJECTED (kind `bug`, the kernel's errno in
   * the message), NFT_UNAVAILABLE (`user`: no permission, kernel or FFI missing) or NFT_BUSY (`transient`).
   */
  abstract apply(ruleset: NftRuleset): Promise<NftApplied>;
  /** The maps of units that the kernel holds, of this process or of an earlier one: a first ruleset built from them moves no remembered client. */
  abstract shareMaps(): Promise<NftShareMaps>;
  /** Whether the kernel holds a table of ours at all, of this process or of an earlier one. */
  abstract exists(): Promise<boolean>;
  /** Whether the kernel still holds our tables as applied; false after `nft flush ruleset` or foreign edits: then the next apply reads the kernel first. */
  abstract isIntact(): Promise<boolean>;
  /** Calls back when somebody changes or flushes our tables from outside. Returns the unsubscribe function. */
  abstract onForeignChange(listener: () => void): () => void;
  /** Connections that the tables refused since they were made; starts again at 0 when a table is replaced. */
  abstract rejectedConnections(): Promise<number>;
  /** Those of them that a listener refused although all of its units lead somewhere: not 0 means a gap in a map, a fault of ours. */
  abstract gapConnections(): Promise<number>;
  /** New connections by front-end address and endpoint. A count that is lower than before has begun anew. */
  abstract flows(): Promise<readonly NftFlow[]>;
  /** Removes our tables. For orderly leave only: a restart keeps the rules. */
  abstract remove(): Promise<void>;
  /** Closes sockets, keeps the rules. */
  abstract close(): Promise<void>;
}
