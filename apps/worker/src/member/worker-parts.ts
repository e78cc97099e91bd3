import type { MemberConnection } from '#domain/membership';
import type { Logger } from '#platform';
import type { Clock, FleetStore, Kube } from '#ports';

import type { SpokeSettings } from '../member-manifests/index.js';

/** A member's API server, opened for one visit. */
export interface OpenKube {
  readonly kube: Kube;
  close(): void;
}

/** What a worker may be told about how to treat members. */
export interface MemberSettings {
  /** Address of the hub's machine listener as members reach it. */
  readonly publicUrl: string;
  readonly allowLocalClusters: boolean;
  readonly spoke: SpokeSettings;
  /** How often a healthy member is looked at. */
  readonly probeIntervalMs: number;
  /** How often everything is checked and applied again. */
  readonly installIntervalMs: number;
  /** How long a leaving spoke is given to clean up by itself. */
  readonly leaveWaitMs: number;
  /** Name of this process as a holder of leases. */
  readonly holder: string;
}

/** What members are looked after with. */
export interface WorkerParts {
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly openKube: (connection: MemberConnection) => OpenKube;
  readonly settings: MemberSettings;
  readonly logger: Logger;
}
