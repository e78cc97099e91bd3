import type { Change, FleetView, LogEntry } from '#domain/fleet';

/** The whole view at one point of the log. */
export interface LoadedView {
  readonly epoch: string;
  readonly sequence: bigint;
  /** Mark of the entry of this number; empty where there is none. */
  readonly mark: string;
  readonly view: FleetView;
  /** Entries that the log still holds, oldest first, up to `sequence`: which cursors a fresh replica can serve. */
  readonly history: readonly LogEntry[];
}

/** Everything from one point of the log to a later one; folding it gives exactly the view at `sequence`. */
export interface ChangeBatch {
  readonly epoch: string;
  readonly sequence: bigint;
  /** Mark of the entry of this number; empty where there is none. */
  readonly mark: string;
  /** One for each target that changed, by the number of its latest entry. */
  readonly changes: readonly Change[];
}

/**
 * The fleet's gapless change log. Numbers become visible in their order: whoever has seen n has missed nothing before n.
 */
export abstract class ChangeLog {
  abstract loadView(): Promise<LoadedView>;
  /** The batch from `sequence` to the head; undefined where the log no longer reaches back that far or the epoch is another. */
  abstract changesSince(epoch: string, sequence: bigint): Promise<ChangeBatch | undefined>;
  /**
   * The random mark of one entry, the same for all replicas; undefined where the log does not hold it. When a backup is put
   * back, numbers come again, marks do not.
   */
  abstract markOf(sequence: bigint): Promise<string | undefined>;
  abstract head(): Promise<{ readonly epoch: string; readonly sequence: bigint }>;
  /** Calls back when the log may have grown: a hint that can be lost, the sequence is the truth. Returns the end of it. */
  abstract onAdvance(listener: () => void): Promise<() => Promise<void>>;
  /** Drops the oldest entries beyond a count. */
  abstract prune(keepCount: number): Promise<void>;
}
