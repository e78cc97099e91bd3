import { FleetError, isFleetError } from '#domain/fleet';
import { nextDelayMs } from '#domain/membership';
import { type Clock, JobQueue, type KeyProcessing, type Random } from '#ports';

import { FakeClock, FakeRandom } from '../fake-clock.js';

interface Waiting {
  readonly dueMs: number;
  readonly attempts: number;
}

/** The queue in memory, on a clock that tests turn. Instances made with `sharing` are further workers on the same queue. */
export class FakeJobQueue extends JobQueue {
  /** Makes every call throw QUEUE_UNAVAILABLE. */
  available = true;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #shared: { readonly waiting: Map<string, Waiting>; readonly active: Map<string, boolean>; readonly pumps: Set<() => void> };
  readonly #closed = new AbortController();
  #processing: KeyProcessing | undefined;
  #runs = 0;
  constructor(options: { readonly clock?: Clock; readonly random?: Random; readonly sharing?: FakeJobQueue } = {}) {
    super();
    this.#clock = options.clock ?? new FakeClock();
    this.#random = options.random ?? new FakeRandom(1);
    this.#shared = options.sharing === undefined ? { waiting: new Map(), active: new Map(), pumps: new Set() } : options.sharing.#shared;
  }

  /** Keys that wait, with the milliseconds left, sorted. */
  waiting(): readonly (readonly [key: string, inMs: number])[] {
    return [...this.#shared.waiting].map(([key, { dueMs }]) => [key, Math.max(0, dueMs - this.#clock.nowMs())] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async request(key: string): Promise<void> {
    if (!this.available) throw new FleetError('QUEUE_UNAVAILABLE', 'transient', 'The job queue cannot be reached: it is switched off.');
    this.#ask(key, { isResync: false });
    this.#pumpAll();
  }

  async process(processing: KeyProcessing): Promise<void> {
    this.#processing = processing;
    const pump = (): void => this.#pump();
    this.#shared.pumps.add(pump);
    this.#closed.signal.addEventListener('abort', () => this.#shared.pumps.delete(pump));
    void this.#resync(processing);
    pump();
  }

  unavailableReason(): string | undefined {
    return this.available ? undefined : 'switched off';
  }

  async close(): Promise<void> {
    this.#closed.abort();
    while (this.#runs > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  async #resync(processing: KeyProcessing): Promise<void> {
    while (!this.#closed.signal.aborted) {
      for (const key of await processing.resyncKeys().catch(() => [])) this.#ask(key, { isResync: true });
      this.#pumpAll();
      await this.#clock.sleep(processing.resyncEveryMs, this.#closed.signal);
    }
  }

  #ask(key: string, { isResync }: { readonly isResync: boolean }): void {
    const { waiting, active } = this.#shared;
    const nowMs = this.#clock.nowMs();
    const before = waiting.get(key);
    if (active.has(key)) active.set(key, true);
    else if (before === undefined) waiting.set(key, { dueMs: nowMs, attempts: 0 });
    else if (!isResync) waiting.set(key, { dueMs: Math.min(before.dueMs, nowMs), attempts: before.attempts });
  }

  #pumpAll(): void {
    for (const pump of [...this.#shared.pumps]) pump();
  }

  #pump(): void {
    if (this.#closed.signal.aborted) return;
    const nowMs = this.#clock.nowMs();
    for (const [key, { dueMs, attempts }] of [...this.#shared.waiting]) {
      if (dueMs > nowMs || this.#runs >= (this.#processing?.concurrency ?? 0)) continue;
      this.#shared.waiting.delete(key);
      this.#shared.active.set(key, false);
      void this.#run(key, attempts);
    }
  }

  async #run(key: string, attempts: number): Promise<void> {
    this.#runs += 1;
    const next = await this.#reconcile(key, attempts);
    this.#runs -= 1;
    const isAskedAgain = this.#shared.active.get(key) === true;
    this.#shared.active.delete(key);
    const nowMs = this.#clock.nowMs();
    if (isAskedAgain) this.#shared.waiting.set(key, { dueMs: nowMs, attempts: 0 });
    else if (next.inMs !== undefined) {
      this.#shared.waiting.set(key, { dueMs: nowMs + next.inMs, attempts: next.attempts });
      void this.#clock.sleep(next.inMs, this.#closed.signal).then(() => this.#pumpAll());
    }
    this.#pumpAll();
  }

  async #reconcile(key: string, attempts: number): Promise<{ readonly inMs: number | undefined; readonly attempts: number }> {
    try {
      return { inMs: (await this.#processing?.reconcile(key))?.nextRunInMs, attempts: 0 };
    } catch (error) {
      const inMs = nextDelayMs(isFleetError(error) ? error.kind : 'bug', attempts, this.#random.next());
      this.#processing?.failed?.(key, error, inMs);
      return { inMs, attempts: attempts + 1 };
    }
  }
}
