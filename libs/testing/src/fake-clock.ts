import { Clock, Random } from '#ports';

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** What the monotonic clock shows at the start: like a real one's, it is no time of day and no whole number. */
const MONOTONIC_START_MS = 3_600_000.25;

/** A clock that stands still until a test advances it. */
export class FakeClock extends Clock {
  readonly #startMs: number;
  #nowMs: number;
  #timeOfDayMs = 0;
  #sleepers: Sleeper[] = [];
  constructor(startMs = 1_700_000_000_000) {
    super();
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }
  nowMs(): number {
    return this.#nowMs + this.#timeOfDayMs;
  }
  monotonicMs(): number {
    return this.#nowMs - this.#startMs + MONOTONIC_START_MS;
  }
  /** Sets the time of day ahead or back, as NTP or a person does; no time passes. */
  stepTimeOfDay(ms: number): void {
    this.#timeOfDayMs += ms;
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= 0 || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      this.#sleepers.push({ dueMs: this.#nowMs + ms, wake: resolve });
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  }
  /** Turns the hands and wakes every sleeper that is due, in order, letting its continuation run first. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#nowMs + ms;
    for (let next = this.#nextDue(targetMs); next !== undefined; next = this.#nextDue(targetMs)) {
      this.#nowMs = next.dueMs;
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      next.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#nowMs = targetMs;
    await new Promise((resolve) => setImmediate(resolve));
  }
  #nextDue(targetMs: number): Sleeper | undefined {
    return this.#sleepers.filter((sleeper) => sleeper.dueMs <= targetMs).sort((a, b) => a.dueMs - b.dueMs)[0];
  }
}

/** A repeatable stream of numbers: mulberry32 over a seed that the test prints. */
export class FakeRandom extends Random {
  #state: number;
  constructor(seed: number) {
    super();
    this.#state = seed;
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
}
