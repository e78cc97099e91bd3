import { setTimeout as delay } from 'node:timers/promises';

import { Clock, Random } from '#ports';

/** The machine's clock. */
export class SystemClock extends Clock {
  nowMs(): number {
    return Date.now();
  }
  monotonicMs(): number {
    return performance.now();
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await delay(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error;
    });
  }
}

/** The machine's randomness; not for secrets. */
export class SystemRandom extends Random {
  next(): number {
    return Math.random();
  }
}
