import { byKey, SHARE_TOTAL_BP, type ClusterId, type ProviderShare } from '#domain/fleet';

/** A provider and the capacity by which its share is measured. */
export interface Weighed {
  readonly clusterId: ClusterId;
  readonly capacity: number;
}

/**
 * Splits {@link SHARE_TOTAL_BP} in proportion to capacity by largest remainder: exact in sum, never off by more than one
 * ten-thousandth each, ties to the lower cluster id. Without any capacity the split is empty; shares of 0 are left out.
 */
export function splitShares(providers: readonly Weighed[]): readonly ProviderShare[] {
  // Sorted first: a floating point sum depends on its order, and the input's order must not matter.
  const weighed = providers
    .filter(({ capacity }) => capacity > 0)
    .map(({ clusterId, capacity }) => ({ clusterId, capacity: Math.min(capacity, Number.MAX_VALUE) }))
    .sort(byKey(({ clusterId }) => clusterId));
  // Scaled by the largest, so that huge capacities cannot overflow the sum.
  const largest = weighed.reduce((max, { capacity }) => Math.max(max, capacity), 0);
  const total = weighed.reduce((sum, { capacity }) => sum + capacity / largest, 0);
  const quotas = weighed.map(({ clusterId, capacity }) => {
    const exact = (capacity / largest / total) * SHARE_TOTAL_BP;
    return { clusterId, floor: Math.floor(exact), remainder: exact - Math.floor(exact) };
  });
  const missing = SHARE_TOTAL_BP - quotas.reduce((sum, { floor }) => sum + floor, 0);
  const rounded = new Set(
    [...quotas]
      .sort((a, b) => b.remainder - a.remainder || byKey<Quota>(({ clusterId }) => clusterId)(a, b))
      .slice(0, missing)
      .map(({ clusterId }) => clusterId),
  );
  return quotas.map(({ clusterId, floor }) => ({ clusterId, shareBp: floor + (rounded.has(clusterId) ? 1 : 0) })).filter(({ shareBp }) => shareBp > 0);
}

interface Quota {
  readonly clusterId: ClusterId;
  readonly floor: number;
  readonly remainder: number;
}
