import type { FleetView } from '#domain/fleet';

/** The view and where in the log it stands. */
export interface ViewAtSequence {
  readonly epoch: string;
  readonly sequence: bigint;
  readonly view: FleetView;
}

/** Where the hub's queries read the fleet from: the view in memory, never a member. */
export abstract class FleetViewSource {
  /** The view as this replica holds it now. */
  abstract current(): ViewAtSequence;
  /** Resolves once the view includes everything that the store has written so far, so that a caller reads its own write. */
  abstract catchUp(): Promise<void>;
}
