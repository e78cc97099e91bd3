import type { FakeClock } from './fake-clock.js';

/** Real time after which {@link until} gives up. */
export const UNTIL_DEADLINE_MS = 15_000;

/**
 * Lets other work run, turn by turn of the event loop, until a state has come about. With a clock it turns the hands a little
 * on each turn, so that what waits for time goes on too. Fails with the state's name, never on a count of turns.
 */
export async function until(what: string, isSo: () => unknown, clock?: FakeClock, stepMs = 50): Promise<void> {
  const startMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startMs > UNTIL_DEADLINE_MS) throw new Error(`never came about: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
    await clock?.advance(stepMs);
  }
}

/** Lets work that needs no time come to rest: a number of turns of the event loop. For states that must not come about. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
