import type { ServiceDefinition } from '@grpc/grpc-js';

import { DELTA_ADS_PATH } from '#contracts/envoy';

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * The delta ADS method with messages as raw bytes: what goes to many streams is encoded once. The state-of-the-world
 * method is not offered, and gRPC answers it with UNIMPLEMENTED.
 */
export const deltaAdsService = {
  deltaAggregatedResources: {
    path: DELTA_ADS_PATH,
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
} as const satisfies ServiceDefinition;

/** Pings find a peer that is gone without a word; both sides allow them while nothing else is said. */
export const KEEPALIVE_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
} as const;

/** Suffix of `system_version_info` on every response that belongs together with the next one; other clients do not read that field. */
export const MORE_FOLLOWS = '+';
