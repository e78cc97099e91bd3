import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { nextDelayMs } from './index.js';

describe('nextDelayMs', () => {
  it('doubles what heals by itself, up to a minute', () => {
    expect([0, 1, 2, 3, 4, 5, 50].map((attempts) => nextDelayMs('transient', attempts, 1))).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });
  it('waits five minutes at most for what a person must mend', () => {
    expect([nextDelayMs('user', 0, 1), nextDelayMs('bug', 9, 1), nextDelayMs('user', 3, 0)]).toEqual([300_000, 300_000, 270_000]);
  });
  it('always waits a second at least, and never gives up', () => {
    fc.assert(
      fc.property(fc.constantFrom('transient', 'user', 'bug'), fc.nat(), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (kind, attempts, random) => {
        const delayMs = nextDelayMs(kind, attempts, random);
        expect(delayMs).toBeGreaterThanOrEqual(1_000);
        expect(delayMs).toBeLessThanOrEqual(300_000);
      }),
    );
  });
});
