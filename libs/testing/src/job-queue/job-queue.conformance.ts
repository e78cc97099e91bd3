import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { FleetError } from '#domain/fleet';
import type { JobQueue, KeyOutcome } from '#ports';

/** A backend to test: opens queues by name, and passes time (really waits, or turns a clock). */
export interface JobQueueUnderTest {
  open(name: string): JobQueue;
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const DONE: KeyOutcome = { nextRunInMs: undefined };

/** What every JobQueue guarantees. Skipped, with its reasons in the name, where the machine lacks something. */
export function jobQueueConformance(name: string, start: () => Promise<JobQueueUnderTest>, missing: readonly string[] = []): void {
  const title = `${name}: the JobQueue port${missing.length === 0 ? '' : ` (skipped: ${missing.join(' ')})`}`;
  (missing.length === 0 ? describe : describe.skip)(title, () => {
    let under: JobQueueUnderTest | undefined;
    let names = 0;
    const opened: JobQueue[] = [];
    beforeAll(async () => {
      under = await start();
    }, 60_000);
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((queue) => queue.close()));
    });
    afterAll(async () => under?.close());
    const bench = (): Bench => {
      names += 1;
      if (under === undefined) throw new Error('the backend did not start');
      return new Bench(under, opened, `conformance-${process.pid}-${names}`);
    };
    runTests(bench);
    resyncTests(bench);
  });
}

/** One queue of a test and what its workers did. */
class Bench {
  readonly runs: string[] = [];
  keys: readonly string[] = [];
  #running = 0;
  runningMax = 0;
  readonly queue: JobQueue;
  constructor(
    private readonly under: JobQueueUnderTest,
    private readonly opened: JobQueue[],
    private readonly name: string,
  ) {
    this.queue = this.open();
  }
  open(): JobQueue {
    const queue = this.under.open(this.name);
    this.opened.push(queue);
    return queue;
  }
  async work(reconcile: (key: string, run: number) => Promise<KeyOutcome>, options: { readonly queue?: JobQueue; readonly resyncEveryMs?: number; readonly concurrency?: number } = {}): Promise<void> {
    await (options.queue ?? this.queue).process({
      reconcile: async (key) => {
        this.#running += 1;
        this.runningMax = Math.max(this.runningMax, this.#running);
        this.runs.push(key);
        try {
          return await reconcile(key, this.runs.filter((run) => run === key).length);
        } finally {
          this.#running -= 1;
        }
      },
      resyncKeys: async () => this.keys,
      resyncEveryMs: options.resyncEveryMs ?? 3_600_000,
      concurrency: options.concurrency ?? 4,
    });
  }
  async until(check: () => boolean): Promise<void> {
    for (let turns = 0; !check(); turns += 1) {
      if (turns > 2_000) throw new Error(`did not come to be; runs: ${this.runs.join(', ')}`);
      await this.under.pass(10);
    }
  }
  /** Long enough for anything that is due to have begun. */
  async settle(): Promise<void> {
    await this.under.pass(400);
  }
}

/** A run that a test holds. */
class Gate {
  readonly #opened: Promise<void>;
  open: () => void = () => undefined;
  constructor() {
    this.#opened = new Promise((resolve) => (this.open = resolve));
  }
  async pass(): Promise<void> {
    await this.#opened;
  }
}

function runTests(bench: () => Bench): void {
  it('a requested key runs, also when it was asked for before anybody worked', async () => {
    const { queue, runs, ...rest } = take(bench());
    await queue.request('a');
    await rest.bench.work(async () => DONE);
    await queue.request('b');
    await rest.bench.until(() => runs.length === 2);
    expect([...runs].sort()).toEqual(['a', 'b']);
  });
  it('asks while a key waits are one run', async () => {
    const { queue, runs, ...rest } = take(bench());
    for (let ask = 0; ask < 5; ask += 1) await queue.request('a');
    await rest.bench.work(async () => DONE);
    await rest.bench.until(() => runs.length > 0);
    await rest.bench.settle();
    expect(runs).toEqual(['a']);
  });
  it('asks during a run make exactly one more run, and never two at once', async () => {
    const { queue, runs, ...rest } = take(bench());
    const gate = new Gate();
    await rest.bench.work(async (_key, run) => {
      if (run === 1) await gate.pass();
      return DONE;
    });
    await queue.request('a');
    await rest.bench.until(() => runs.length === 1);
    for (let ask = 0; ask < 5; ask += 1) await queue.request('a');
    gate.open();
    await rest.bench.until(() => runs.length === 2);
    await rest.bench.settle();
    expect({ runs, runningMax: rest.bench.runningMax }).toEqual({ runs: ['a', 'a'], runningMax: 1 });
  });
  it('a key comes back after the delay that its run asked for', async () => {
    const { queue, runs, ...rest } = take(bench());
    await rest.bench.work(async (_key, run) => ({ nextRunInMs: run < 3 ? 20 : undefined }));
    await queue.request('a');
    await rest.bench.until(() => runs.length === 3);
    await rest.bench.settle();
    expect(runs).toEqual(['a', 'a', 'a']);
  });
  it('an ask does not wait for the delay of its key', async () => {
    const { queue, runs, ...rest } = take(bench());
    await rest.bench.work(async () => ({ nextRunInMs: 3_600_000 }));
    await queue.request('a');
    await rest.bench.until(() => runs.length === 1);
    await rest.bench.settle();
    await queue.request('a');
    await rest.bench.until(() => runs.length === 2);
  });
  it('an ask during a run that fails does not wait for the delay of the failure', async () => {
    const { queue, runs, ...rest } = take(bench());
    const gate = new Gate();
    await rest.bench.work(async (_key, run) => {
      if (run > 1) return DONE;
      await gate.pass();
      throw new FleetError('TEST_USER', 'user', 'a person must act');
    });
    await queue.request('a');
    await rest.bench.until(() => runs.length === 1);
    await queue.request('a');
    gate.open();
    await rest.bench.until(() => runs.length === 2);
  });
  it('a key that fails comes back, and the others are not held up', async () => {
    const { queue, runs, ...rest } = take(bench());
    await rest.bench.work(async (key, run) => {
      if (key === 'bad' && run < 2) throw new FleetError('TEST_TRANSIENT', 'transient', 'heals by itself');
      return DONE;
    });
    await queue.request('bad');
    await rest.bench.until(() => runs.length === 1);
    await queue.request('good');
    await rest.bench.until(() => runs.includes('good'));
    await rest.bench.until(() => runs.filter((key) => key === 'bad').length === 2);
  });
  it('two workers share the keys, and no key runs twice at once', async () => {
    const { queue, runs, ...rest } = take(bench());
    const busy = new Set<string>();
    const clashes: string[] = [];
    const reconcile = async (key: string): Promise<KeyOutcome> => {
      if (busy.has(key)) clashes.push(key);
      busy.add(key);
      await new Promise((resolve) => setImmediate(resolve));
      busy.delete(key);
      return DONE;
    };
    await rest.bench.work(reconcile);
    await rest.bench.work(reconcile, { queue: rest.bench.open() });
    const keys = Array.from({ length: 20 }, (_value, index) => `k${index}`);
    for (const key of [...keys, ...keys]) await queue.request(key);
    await rest.bench.until(() => new Set(runs).size === 20);
    expect(clashes).toEqual([]);
  });
}

function resyncTests(bench: () => Bench): void {
  it('a resync brings every key, at the start and again', async () => {
    const { runs, ...rest } = take(bench());
    rest.bench.keys = ['a', 'b'];
    await rest.bench.work(async () => DONE, { resyncEveryMs: 100 });
    await rest.bench.until(() => runs.filter((key) => key === 'a').length >= 2 && runs.filter((key) => key === 'b').length >= 2);
  });
  it('a resync does not end the delay of a key that failed', async () => {
    const { queue, runs, ...rest } = take(bench());
    rest.bench.keys = ['bad', 'good'];
    await queue.request('bad');
    await rest.bench.work(
      async (key) => {
        if (key === 'bad') throw new FleetError('TEST_USER', 'user', 'a person must act');
        return DONE;
      },
      { resyncEveryMs: 100 },
    );
    await rest.bench.until(() => runs.filter((key) => key === 'good').length >= 4);
    expect(runs.filter((key) => key === 'bad').length).toBeLessThanOrEqual(2);
  });
}

const take = (bench: Bench): { readonly bench: Bench; readonly queue: JobQueue; readonly runs: string[] } => ({ bench, queue: bench.queue, runs: bench.runs });
