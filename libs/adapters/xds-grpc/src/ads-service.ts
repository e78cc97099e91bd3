import type { ServiceDefinition } from '@grpc/grpc-js';

import { DELTA_ADS_PATH, SOTW_ADS_PATH } from '#contracts/envoy';

const asIs = (bytes: Buffer): Buffer => bytes;
const BYTES_BOTH_WAYS = { requestStream: true, responseStream: true, requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs } as const;

/**
 * The two ADS methods with messages as raw bytes: what goes to many streams is encoded once. Our own clients and Envoy speak
 * delta, gRPC clients state of the world.
 */
export const adsService = {
  deltaAggregatedResources: { path: DELTA_ADS_PATH, ...BYTES_BOTH_WAYS },
  streamAggregatedResources: { path: SOTW_ADS_PATH, ...BYTES_BOTH_WAYS },
} as const satisfies ServiceDefinition;

/** Pings find a peer that is gone without a word; both sides allow them while nothing else is said. */
export const KEEPALIVE_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
} as const;

/** Suffix of `system_version_info` on every response that belongs together with the next one; other clients do not read that field. */
export const MORE_FOLLOWS = '+';
