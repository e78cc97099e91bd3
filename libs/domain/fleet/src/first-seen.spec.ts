import { describe, expect, it } from '@jest/globals';

import { FIRST_SEEN_MAX, firstSeenPlace, settleFirstSeen } from './first-seen.js';

const EPOCH_MS = Date.UTC(2026, 10, 30);
const entry = { epochBeganAtMs: EPOCH_MS, sequence: 7n };
const own = firstSeenPlace(EPOCH_MS, 7n);

describe('first-seen order', () => {
  it('an earlier entry is before a later one, and every entry of an epoch before all of the next', () => {
    expect(firstSeenPlace(EPOCH_MS, 6n)).toBeLessThan(own);
    expect(firstSeenPlace(EPOCH_MS, 1_000_000_000n)).toBeLessThan(firstSeenPlace(EPOCH_MS + 3_600_000, 1n));
    expect(firstSeenPlace(EPOCH_MS + 0.75, 7n)).toBe(own);
  });

  it('a place fits into a signed 64-bit number for centuries', () => {
    expect(firstSeenPlace(Date.UTC(2200, 0, 1), 2n ** 40n)).toBeLessThan(FIRST_SEEN_MAX);
  });

  it.each([
    { name: 'a place of an earlier epoch, in a first report', repeated: 42n, isFirst: true, want: 42n },
    { name: 'the last place before this epoch', repeated: firstSeenPlace(EPOCH_MS, 0n) - 1n, isFirst: true, want: firstSeenPlace(EPOCH_MS, 0n) - 1n },
    { name: 'a place of this epoch: the hub knows better', repeated: firstSeenPlace(EPOCH_MS, 3n), isFirst: true, want: own },
    { name: 'any place, later than in a first report', repeated: 42n, isFirst: false, want: own },
    { name: 'no place', repeated: undefined, isFirst: true, want: own },
    { name: 'zero, which is none', repeated: 0n, isFirst: true, want: own },
  ])('$name', ({ repeated, isFirst, want }) => {
    expect(settleFirstSeen(entry, repeated, isFirst)).toBe(want);
  });
});
