import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { clusterId, SHARE_TOTAL_BP } from '#domain/fleet';

import { splitShares } from './split-shares.js';

const split = (capacities: Record<string, number>) =>
  Object.fromEntries(splitShares(Object.entries(capacities).map(([id, capacity]) => ({ clusterId: clusterId(id), capacity }))).map((share) => [share.clusterId, share.shareBp]));

describe('splitShares', () => {
  it.each<{ readonly says: string; readonly capacities: Record<string, number>; readonly want: Record<string, number> }>([
    { says: 'nobody gets a share of nothing', capacities: {}, want: {} },
    { says: 'a provider without capacity gets no share', capacities: { a: 0, b: 3 }, want: { b: 10_000 } },
    { says: 'shares follow capacity', capacities: { a: 1, b: 3 }, want: { a: 2_500, b: 7_500 } },
    { says: 'the odd ten-thousandth goes to the lowest id on a tie', capacities: { c: 1, b: 1, a: 1 }, want: { a: 3_334, b: 3_333, c: 3_333 } },
    { says: 'the odd ten-thousandth goes to the largest remainder', capacities: { a: 2, b: 4 }, want: { a: 3_333, b: 6_667 } },
    { says: 'a share that rounds to nothing is left out', capacities: { a: 1, b: 1e9 }, want: { b: 10_000 } },
    { says: 'capacities near the end of the number range do not overflow', capacities: { a: 1.7e308, b: 1.7e308 }, want: { a: 5_000, b: 5_000 } },
    { says: 'a capacity beyond the number range is the largest there is', capacities: { a: Infinity, b: Infinity, c: 1 }, want: { a: 5_000, b: 5_000 } },
    { says: 'a capacity that is no number is none', capacities: { a: NaN, b: 1 }, want: { b: 10_000 } },
    { says: 'capacities below one count as well', capacities: { a: 1e-300, b: 3e-300 }, want: { a: 2_500, b: 7_500 } },
  ])('$says', ({ capacities, want }) => {
    expect(split(capacities)).toEqual(want);
  });

  it('always sums to the total, is within one ten-thousandth of exact, and ignores order', () => {
    const providers = fc.uniqueArray(fc.record({ clusterId: fc.integer({ min: 0, max: 99 }).map((n) => clusterId(`c${n}`)), capacity: fc.double({ min: 0.001, max: 1e6, noNaN: true }) }), { selector: (p) => p.clusterId, minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(providers, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (list, keys) => {
        const got = splitShares(list);
        const total = list.reduce((sum, { capacity }) => sum + capacity, 0);
        expect(got.reduce((sum, { shareBp }) => sum + shareBp, 0)).toBe(SHARE_TOTAL_BP);
        for (const { clusterId: id, capacity } of list) {
          const exact = (capacity / total) * SHARE_TOTAL_BP;
          expect(Math.abs((got.find((share) => share.clusterId === id)?.shareBp ?? 0) - exact)).toBeLessThan(1.000_001);
        }
        const shuffled = list.map((provider) => ({ provider, key: keys.next().value })).sort((a, b) => Number(a.key) - Number(b.key));
        expect(splitShares(shuffled.map(({ provider }) => provider))).toEqual(got);
      }),
    );
  });
});
