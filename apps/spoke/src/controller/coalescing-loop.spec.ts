import { describe, expect, it } from '@jest/globals';

import { FakeClock, FakeRandom, settle, until } from '#testing';

import { CoalescingLoop } from './coalescing-loop.js';

describe('coalescing loop', () => {
  it('never runs twice at once, and runs once more for any number of changes during a run', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    let release: () => void = () => undefined;
    const loop = new CoalescingLoop({
      clock: new FakeClock(), random: new FakeRandom(1), debounceMs: 0, onError: () => undefined,
      run: async () => {
        running += 1;
        runs += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => (release = resolve));
        running -= 1;
      },
    });
    loop.poke();
    loop.poke();
    await until('first run', () => runs === 1);
    for (let n = 0; n < 10; n += 1) loop.poke();
    release();
    await until('second run', () => runs === 2);
    release();
    await until('idle', () => loop.idle);
    expect([most, runs]).toEqual([1, 2]);
  });
  it('a failed run is tried again with backoff, without a new change', async () => {
    const clock = new FakeClock();
    let failures = 3;
    let done = false;
    const loop = new CoalescingLoop({
      clock, random: new FakeRandom(1), debounceMs: 0, onError: () => undefined,
      run: () => {
        failures -= 1;
        if (failures >= 0) throw new Error('not yet');
        done = true;
      },
    });
    loop.poke();
    await settle();
    expect(done).toBe(false);
    await until('done', () => done, clock, 500);
    await loop.stop();
  });
  it('a stopped loop runs no more', async () => {
    let runs = 0;
    const loop = new CoalescingLoop({ clock: new FakeClock(), random: new FakeRandom(1), debounceMs: 0, onError: () => undefined, run: () => void (runs += 1) });
    await loop.stop();
    loop.poke();
    await settle();
    expect(runs).toBe(0);
  });
});
