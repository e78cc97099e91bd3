import type { NftRuleset } from '#domain/nft-ruleset';

/** What is in the kernel, as the last apply left it. */
export interface NftApplied {
  /** Kernel operations sent, for the metric of work per change. */
  readonly operations: number;
  readonly durationMs: number;
}

/** The node's own nftables table `spillway`. One writer; never touches another table. */
export abstract class Nft {
  /**
   * Makes the kernel hold exactly this ruleset, in one transaction: all of it or nothing. Level-triggered: the adapter
   * diffs against what it knows to be in the kernel. Throws FleetError NFT_REJECTED (kind `bug`, the kernel's errno in
   * the message), NFT_UNAVAILABLE (`user`: no permission, kernel or FFI missing) or NFT_BUSY (`transient`).
   */
  abstract apply(ruleset: NftRuleset): Promise<NftApplied>;
  /** Whether the kernel holds a table of ours at all, of this process or of an earlier one. */
  abstract exists(): Promise<boolean>;
  /** Whether the kernel still holds our table as applied; false after `nft flush ruleset` or foreign edits: then the next apply reads the kernel first. */
  abstract isIntact(): Promise<boolean>;
  /** Calls back when somebody changes or flushes our table from outside. Returns the unsubscribe function. */
  abstract onForeignChange(listener: () => void): () => void;
  /** Connections that the table refused since it was made; starts again at 0 when the table is replaced. */
  abstract rejectedConnections(): Promise<number>;
  /** Removes our table. For orderly leave only: a restart keeps the rules. */
  abstract remove(): Promise<void>;
  /** Closes sockets, keeps the rules. */
  abstract close(): Promise<void>;
}
