import type { XdsAcknowledgements } from '#adapters/xds-grpc';
import type { XdsSnapshot } from '#domain/xds-snapshot';

/** What clients of the plan have acknowledged. */
export type PlanAcknowledgements = XdsAcknowledgements;

/** Where snapshots go, and where nodes' words about them come from. Nothing is served before the first snapshot. */
export interface PlanServer {
  readonly acknowledgements: PlanAcknowledgements;
  setSnapshot(snapshot: XdsSnapshot): void;
  close(): Promise<void>;
}
