/** Names and intervals of a {@link Controller}. */
export interface ControllerOptions {
  /** The namespace that is ours. */
  readonly namespace: string;
  /** Holder of the Lease. */
  readonly podName: string;
  readonly leaseName: string;
  readonly leaseDurationMs: number;
  readonly leaseRenewMs: number;
  /** Domain under which `gw` lives. */
  readonly clusterDomain: string;
  /** How long changes gather before a plan. */
  readonly planDebounceMs: number;
  /** How long acknowledgements gather before statuses are written. */
  readonly statusDebounceMs: number;
  /** How often verdicts that depend on time are looked at while any is open. */
  readonly evidenceTickMs: number;
  /** Heartbeat interval until the hub asks for another. */
  readonly reportIntervalMs: number;
  /** How long a sync waits for news. */
  readonly syncWaitMs: number;
  /** How soon to ask for a full state again while it was not complete. */
  readonly incompleteRetryMs: number;
  /** The shortest time between two saves of the last good state. */
  readonly lastGoodIntervalMs: number;
  /** How often it is looked at whether the saved last good state is still there, whole. */
  readonly lastGoodVerifyMs: number;
  /** How long a member without a saved state waits for the hub's first word before it serves its own endpoints alone. */
  readonly firstWordWaitMs: number;
  /** How long absence from a new hub's full state is no evidence. */
  readonly epochGraceMs: number;
  /** The age at which the key that signs for this cluster is rotated. */
  readonly keyAgeMaxMs: number;
}

/** The options that a controller runs with unless configured otherwise. */
export const DEFAULT_CONTROLLER_OPTIONS: ControllerOptions = {
  namespace: 'spillway-system',
  podName: 'spillway-spoke-controller',
  leaseName: 'spillway-spoke-controller',
  leaseDurationMs: 10_000,
  leaseRenewMs: 2_500,
  clusterDomain: 'cluster.local',
  planDebounceMs: 2,
  statusDebounceMs: 50,
  evidenceTickMs: 5_000,
  reportIntervalMs: 5_000,
  syncWaitMs: 25_000,
  incompleteRetryMs: 2_000,
  lastGoodIntervalMs: 5_000,
  lastGoodVerifyMs: 60_000,
  firstWordWaitMs: 60_000,
  epochGraceMs: 300_000,
  keyAgeMaxMs: 30 * 24 * 3_600_000,
};
