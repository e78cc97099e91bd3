import { describe, expect, it } from '@jest/globals';

import { FakeClock } from '#testing';

import { AUTH_FAILURES_MAX, AUTH_FAILURE_WINDOW_MS, AUTH_TRUST_MS, FailureLimit } from './failure-limit.js';

describe('FailureLimit', () => {
  it('lets an address try until it has failed too often, and again after the window', async () => {
    const clock = new FakeClock();
    const limit = new FailureLimit(clock);
    for (let failure = 1; failure < AUTH_FAILURES_MAX; failure += 1) limit.record('10.0.0.1');
    expect(limit.waitMs('10.0.0.1')).toBe(0);
    await clock.advance(1_000);
    limit.record('10.0.0.1');
    expect(limit.waitMs('10.0.0.1')).toBe(AUTH_FAILURE_WINDOW_MS - 1_000);
    expect(limit.waitMs('10.0.0.2')).toBe(0);
    await clock.advance(AUTH_FAILURE_WINDOW_MS - 1_000);
    expect(limit.waitMs('10.0.0.1')).toBe(0);
  });

  it('remembers no more addresses than it may, forgetting the one that failed longest ago', () => {
    const limit = new FailureLimit(new FakeClock());
    for (let failure = 0; failure < AUTH_FAILURES_MAX; failure += 1) limit.record('first');
    for (let address = 0; address < 9_999; address += 1) limit.record(`a${address}`);
    expect(limit.waitMs('first')).toBeGreaterThan(0);
    limit.record('one more');
    expect(limit.waitMs('first')).toBe(0);
  });

  it('trusts an address for a day after a right token came from it', async () => {
    const clock = new FakeClock();
    const limit = new FailureLimit(clock);
    expect(limit.isTrusted('10.0.0.1')).toBe(false);
    limit.trust('10.0.0.1');
    await clock.advance(AUTH_TRUST_MS - 1);
    expect(limit.isTrusted('10.0.0.1')).toBe(true);
    expect(limit.isTrusted('10.0.0.2')).toBe(false);
    await clock.advance(1);
    expect(limit.isTrusted('10.0.0.1')).toBe(false);
  });
});
