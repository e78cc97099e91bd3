import { setTimeout as delay } from 'node:timers/promises';

import { createPostgresBackend, createRedisBackend, withBackend, type BackendClasses, type IQueueBackend, type Job, type JobsOptions } from 'bullmq';

import { FleetError, isFleetError } from '#domain/fleet';
import { nextDelayMs } from '#domain/membership';
import { JobQueue, type KeyProcessing, type Random } from '#ports';

/** Where the queue lives. */
export type QueueBackend =
  | { readonly kind: 'postgres'; readonly connectionString: string }
  | { readonly kind: 'redis'; readonly url: string };

/** Options of {@link BullJobQueue}. */
export interface BullJobQueueOptions {
  readonly backend: QueueBackend;
  /** Queues of other names share nothing; letters, digits and dashes. */
  readonly name: string;
  readonly random: Random;
}

interface KeyData {
  /** Failures in a row before this run. */
  readonly attempts: number;
}

interface RunResult {
  readonly nextRunInMs: number | undefined;
  readonly attempts: number;
}

const RESYNC = 'resync';
const KEY = 'key';

/** A worker that dies with a key is no fault of the key: it goes to the next worker, however often. */
const STALLS_MAX = 1_000_000;

/** Wait between attempts to reach a backend that is away at the start. */
const RETRY_MS = 1_000;

/** Longest time that adding a job may take, when the backend is away. */
const REQUEST_DEADLINE_MS = 5_000;

/**
 * The JobQueue over BullMQ, on PostgreSQL or Redis. One job per key by deduplication. A run never fails in BullMQ's eyes: it
 * completes with the delay after which it wants to be back, and the delayed job is added once it is no longer active, so
 * that an ask during the run, which BullMQ kept, goes first.
 */
export class BullJobQueue extends JobQueue {
  readonly #options: BullJobQueueOptions;
  readonly #classes: BackendClasses<IQueueBackend, unknown>;
  readonly #queue: InstanceType<BackendClasses<IQueueBackend, unknown>['Queue']>;
  #worker: InstanceType<BackendClasses<IQueueBackend, unknown>['Worker']> | undefined;
  #trouble: string | undefined;
  readonly #closed = new AbortController();
  /** Keys from the start of their run here until their next one is asked for. */
  readonly #busy = new Set<string>();
  #skipped: ReadonlySet<string> = new Set();
  readonly #pending = new Set<Promise<void>>();
  constructor(options: BullJobQueueOptions) {
    super();
    this.#options = options;
    this.#classes = classesOf(options.backend);
    this.#queue = new this.#classes.Queue(options.name, this.#connection());
    this.#queue.on('error', (error) => this.#note(error));
  }

  async request(key: string): Promise<void> {
    // `reschedule` pulls a key that waits out a delay to now.
    await this.#add(key, { attempts: 0 }, { deduplication: { id: key, keepLastIfActive: true, reschedule: true } });
  }

  async process(processing: KeyProcessing): Promise<void> {
    const worker = new this.#classes.Worker(this.#options.name, async (job) => this.#run(job, processing), {
      ...this.#connection(),
      concurrency: processing.concurrency,
      maxStalledCount: STALLS_MAX,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', (error) => this.#note(error));
    worker.on('ready', () => (this.#trouble = undefined));
    worker.on('completed', (job, result: RunResult | undefined) => this.#track(this.#comeBack(job, result)));
    this.#worker = worker;
    this.#track(this.#scheduleResync(processing.resyncEveryMs));
  }

  unavailableReason(): string | undefined {
    return this.#trouble;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#worker?.close();
    await Promise.all(this.#pending);
    await this.#queue.close();
  }

  async #run(job: Job, processing: KeyProcessing): Promise<RunResult> {
    this.#trouble = undefined;
    if (job.name === RESYNC) {
      await this.#resync(await processing.resyncKeys());
      return { nextRunInMs: undefined, attempts: 0 };
    }
    const key = keyOf(job);
    const { attempts } = job.data as KeyData;
    this.#busy.add(key);
    try {
      return { ...(await processing.reconcile(key)), attempts: 0 };
    } catch (error) {
      const nextRunInMs = nextDelayMs(isFleetError(error) ? error.kind : 'bug', attempts, this.#options.random.next());
      processing.failed?.(key, error, nextRunInMs);
      return { nextRunInMs, attempts: attempts + 1 };
    }
  }

  // A resync neither ends the delay of a key that failed (no `reschedule`), nor adds to a run that is under way; the latter only
  // once in a row, since the end of a run can get lost.
  async #resync(keys: readonly string[]): Promise<void> {
    const skipped = keys.filter((key) => this.#busy.has(key) && !this.#skipped.has(key));
    this.#skipped = new Set(skipped);
    for (const key of keys) if (!this.#skipped.has(key)) await this.#add(key, { attempts: 0 }, { deduplication: { id: key, keepLastIfActive: true } });
  }

  // A backend that is away when a process starts is waited for.
  async #scheduleResync(everyMs: number): Promise<void> {
    while (!this.#closed.signal.aborted) {
      try {
        await guarded(this.#queue.upsertJobScheduler(RESYNC, { every: everyMs }, { name: RESYNC, data: {}, opts: { removeOnComplete: true, removeOnFail: true } }));
        this.#trouble = undefined;
        return;
      } catch (error) {
        this.#note(error);
        await delay(RETRY_MS, undefined, { signal: this.#closed.signal }).catch(() => undefined);
      }
    }
  }

  async #comeBack(job: Job, result: RunResult | undefined): Promise<void> {
    if (job.name === RESYNC) return;
    const key = keyOf(job);
    // Should this get lost, the resync brings the key back.
    if (result?.nextRunInMs !== undefined) await this.#add(key, { attempts: result.attempts }, { delay: result.nextRunInMs, deduplication: { id: key, keepLastIfActive: true } }).catch((error: unknown) => this.#note(error));
    this.#busy.delete(key);
  }

  async #add(key: string, data: KeyData, options: JobsOptions): Promise<void> {
    await guarded(this.#queue.add(KEY, { ...data, key }, { ...options, removeOnComplete: true, removeOnFail: true }));
  }

  #track(work: Promise<void>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  #note(error: unknown): void {
    this.#trouble = error instanceof Error ? error.message : String(error);
  }

  #connection(): { readonly connection: unknown; readonly prefix: string } {
    const { backend } = this.#options;
    if (backend.kind === 'redis') return { connection: { url: backend.url, maxRetriesPerRequest: null }, prefix: 'spillway' };
    return { connection: { connectionString: backend.connectionString, migrate: true, max: 4 }, prefix: 'spillway' };
  }
}

function classesOf(backend: QueueBackend): BackendClasses<IQueueBackend, unknown> {
  const classes = backend.kind === 'redis' ? withBackend(createRedisBackend) : withBackend(createPostgresBackend);
  return classes as unknown as BackendClasses<IQueueBackend, unknown>;
}

const keyOf = (job: Job): string => (job.data as { readonly key: string }).key;

// Without its backend BullMQ waits for ever; a caller must be able to answer.
async function guarded<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unavailable(`no answer within ${REQUEST_DEADLINE_MS} ms`)), REQUEST_DEADLINE_MS);
  });
  try {
    return await Promise.race([work, deadline]);
  } catch (error) {
    throw isFleetError(error) ? error : unavailable(error instanceof Error ? error.message : String(error), error);
  } finally {
    clearTimeout(timer);
  }
}

const unavailable = (text: string, cause?: unknown): FleetError => new FleetError('QUEUE_UNAVAILABLE', 'transient', `The job queue cannot be reached: ${text}.`, { cause });
