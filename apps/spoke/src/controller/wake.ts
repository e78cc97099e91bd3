import type { Clock } from '#ports';

/** A bell that ends a sleep early: a ring while nobody sleeps is kept for the next sleep. */
export class Wake {
  #rung = false;
  #interrupt: AbortController | undefined;

  ring(): void {
    this.#rung = true;
    this.#interrupt?.abort();
  }

  /** Sleeps until the time is over, the bell rings, or `signal` aborts. True when it rang. */
  async sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.#rung && ms > 0 && signal?.aborted !== true) {
      this.#interrupt = new AbortController();
      const signals = signal === undefined ? [this.#interrupt.signal] : [this.#interrupt.signal, signal];
      await clock.sleep(ms, AbortSignal.any(signals));
      this.#interrupt = undefined;
    }
    const rung = this.#rung;
    this.#rung = false;
    return rung;
  }
}
