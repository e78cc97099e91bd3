import type { BackendName, ClusterId, FleetView, Freeze, MemberPart, MemberState, SamenessPolicy } from '#domain/fleet';

/** What one log entry touched, without values. */
export type ChangeTarget =
  | { readonly kind: 'part'; readonly clusterId: ClusterId; readonly name: BackendName }
  | { readonly kind: 'member'; readonly clusterId: ClusterId }
  /** `namespaces`: patterns of the policy before and after the change. */
  | { readonly kind: 'policy'; readonly name: string; readonly namespaces: readonly string[] }
  | { readonly kind: 'freeze' };

/** One log entry: its number and what it touched. */
export interface LogEntry {
  readonly sequence: bigint;
  readonly target: ChangeTarget;
}

/** A log entry's target with its value as of the batch's sequence (undefined = gone), not as of the entry. */
export type Change =
  | { readonly kind: 'part'; readonly sequence: bigint; readonly clusterId: ClusterId; readonly name: BackendName; readonly part: MemberPart | undefined }
  | { readonly kind: 'member'; readonly sequence: bigint; readonly clusterId: ClusterId; readonly member: MemberState | undefined }
  | { readonly kind: 'policy'; readonly sequence: bigint; readonly name: string; readonly namespaces: readonly string[]; readonly policy: SamenessPolicy | undefined }
  | { readonly kind: 'freeze'; readonly sequence: bigint; readonly freeze: Freeze | undefined };

/** The whole view at one point of the log. */
export interface LoadedView {
  readonly epoch: string;
  readonly sequence: bigint;
  readonly view: FleetView;
  /** Entries that the log still holds, oldest first, up to `sequence`: which cursors a fresh replica can serve. */
  readonly history: readonly LogEntry[];
}

/** Everything from one point of the log to a later one; folding it gives exactly the view at `sequence`. */
export interface ChangeBatch {
  readonly epoch: string;
  readonly sequence: bigint;
  readonly changes: readonly Change[];
}

/**
 * The fleet's gapless change log. Numbers become visible in their order: whoever has seen n has missed nothing before n.
 */
export abstract class ChangeLog {
  abstract loadView(): Promise<LoadedView>;
  /** The batch from `sequence` to the head; undefined where the log no longer reaches back that far or the epoch is another. */
  abstract changesSince(epoch: string, sequence: bigint): Promise<ChangeBatch | undefined>;
  abstract head(): Promise<{ readonly epoch: string; readonly sequence: bigint }>;
  /** Calls back when the log may have grown: a hint that can be lost, the sequence is the truth. Returns the end of it. */
  abstract onAdvance(listener: () => void): Promise<() => Promise<void>>;
  /** Drops the oldest entries beyond a count. */
  abstract prune(keepCount: number): Promise<void>;
}
