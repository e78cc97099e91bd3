/** How long a node's word counts after its stream broke, and how long a change may take before silence means failure. */
export const EVIDENCE_TTL_MS = 30_000;

/** What the data plane says of one frontend or backend. */
export interface ProgrammedEvidence {
  /** When the version that nodes should have now was first served. */
  readonly wantedSinceMs: number;
  /** Nodes that are Ready and run our agent; others do not count. */
  readonly nodes: readonly NodeEvidence[];
}

/** What one node says. */
export interface NodeEvidence {
  readonly node: string;
  /** Whether it has acknowledged the wanted version. */
  readonly hasAcknowledged: boolean;
  /** When its agent was last heard of: now while its stream is open. */
  readonly lastSeenAtMs: number;
  /** When its agent's first stream opened: one that joined after all others had acknowledged revokes nothing. */
  readonly joinedAtMs: number;
  /** The kernel's words where it refused the wanted version (NACK). */
  readonly refusal: string | undefined;
}
