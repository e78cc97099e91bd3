/** Limits of the spoke API, the same for both ends. */
export const SPOKE_API_LIMITS = {
  /** Largest Report body. */
  reportBytesMax: 8 * 1024 * 1024,
  /** Largest body of every other call. */
  otherBytesMax: 64 * 1024,
  backendsMax: 2_000,
  endpointsPerBackendMax: 5_000,
  portsPerBackendMax: 64,
  /** Gateway addresses of one member. */
  gatewaysMax: 16,
  /** Addresses from which one member's calls come. */
  egressMax: 1_000,
  /** Addresses of one member to which path probes go in turn. */
  probesMax: 3,
  gatewayPortsMax: 10_000,
  /** Largest declared capacity of one endpoint, as the CRD has it. */
  capacityPerEndpointMax: 1_000_000_000,
  /** Longest that a Sync may wait. */
  syncWaitMsMax: 60_000,
  /** Longest life of a call's token. */
  tokenLifeMsMax: 60_000,
  /** Longest life of a join token. */
  joinTokenLifeMsMax: 24 * 60 * 60 * 1_000,
} as const;
