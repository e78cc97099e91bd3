/** One audited change. */
export interface AuditEntry {
  /** Grows with every entry; a write that was taken back leaves a gap. */
  readonly id: bigint;
  readonly atMs: number;
  readonly by: string;
  /** Verb such as `registerCluster`. */
  readonly action: string;
  /** What it was done to, such as `cluster/east-1`. */
  readonly target: string;
  /** Plain JSON without secrets; null where there was nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Who changed what. Other stores write their own entries in the transaction of the change. */
export abstract class AuditLog {
  /** Writes an entry for a change that no store method audits. */
  abstract record(entry: Omit<AuditEntry, 'id' | 'atMs'>): Promise<void>;
  /** Newest first; `before` continues a page below that id. */
  abstract list(page: { readonly limit: number; readonly before?: bigint; readonly target?: string }): Promise<readonly AuditEntry[]>;
}
