import type { BackendName } from './ids.js';

/** Log entries that one millisecond of an epoch has room for in the order; far more than a hub can write. */
const SEQUENCE_BITS = 20n;

/** The highest place in the order; what a signed 64-bit column holds. */
export const FIRST_SEEN_MAX = 2n ** 63n - 1n;

/**
 * The place of a definition in the order in which hubs first saw them, from the hub's own log alone. Epochs come one after
 * another, so whatever an earlier epoch saw is before whatever a later one sees, although each counts its log from its start.
 */
export const firstSeenPlace = (epochBeganAtMs: number, sequence: bigint): bigint => (BigInt(Math.floor(epochBeganAtMs)) << SEQUENCE_BITS) + sequence;

/** Places of a cluster's own definitions, as its spoke repeats them. */
export type FirstSeenPlaces = ReadonlyMap<BackendName, bigint>;

/**
 * The place of a definition that the hub sees for the first time: `repeated` where a hub before this epoch has given it one and
 * the member tells everything for the first time, else the place of its log entry. A member's word counts at that moment alone,
 * and never for a place that this epoch could have given: of those the hub itself knows best.
 */
export function settleFirstSeen(entry: { readonly epochBeganAtMs: number; readonly sequence: bigint }, repeated: bigint | undefined, isFirstReport: boolean): bigint {
  const isOlder = repeated !== undefined && repeated > 0n && repeated < firstSeenPlace(entry.epochBeganAtMs, 0n);
  return isFirstReport && isOlder ? repeated : firstSeenPlace(entry.epochBeganAtMs, entry.sequence);
}
