import { setTimeout as delay } from 'node:timers/promises';

import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded-postgres.js';

/** A server of our own that is started again when somebody else ends it. */
export interface KeptPostgres {
  /** Stays the same. */
  readonly connectionString: string;
  /** Of the server that runs now. */
  readonly pid: number;
  /** Resolves with a sentence once it cannot be kept; never after a stop. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
}

/** Starts that are tried after one end. What a killed server leaves holds its memory until the last of it is gone. */
const START_TRIES = 20;
const RETRY_MS = 500;
/** A server that ends more often than this within the window has a reason that starting it again does not mend. */
const ENDS_MAX = 3;
const WINDOW_MS = 60_000;

/** Starts a server as {@link startEmbeddedPostgres} does, and again on the same port whenever it ends by itself or by another. */
export async function keepEmbeddedPostgres(options: EmbeddedPostgresOptions, onRestart: (why: string) => void): Promise<KeptPostgres> {
  const first = await startEmbeddedPostgres(options);
  const keeper = new Keeper(first, { ...options, port: Number(new URL(first.connectionString).port) }, onRestart);
  const failed = keeper.run();
  return {
    connectionString: first.connectionString,
    get pid() {
      return keeper.pid;
    },
    failed,
    stop: () => keeper.stop(),
  };
}

class Keeper {
  readonly #stopped = new AbortController();
  #starting: Promise<EmbeddedPostgres | undefined> | undefined;
  #endedAtMs: readonly number[] = [];

  constructor(
    private server: EmbeddedPostgres,
    private readonly options: EmbeddedPostgresOptions,
    private readonly onRestart: (why: string) => void,
  ) {}

  get pid(): number {
    return this.server.pid;
  }

  /** Resolves with a sentence when it gives up. */
  async run(): Promise<string> {
    for (;;) {
      const why = await this.server.ended;
      if (this.#stopped.signal.aborted) return new Promise<never>(() => {});
      const nowMs = performance.now();
      this.#endedAtMs = [...this.#endedAtMs.filter((atMs) => nowMs - atMs < WINDOW_MS), nowMs];
      if (this.#endedAtMs.length > ENDS_MAX) return `PostgreSQL ${why}, for the ${this.#endedAtMs.length}th time within a minute; see to what ends it, then start again`;
      this.onRestart(why);
      this.#starting = this.#startAgain();
      const again = await this.#starting.catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
      if (again === undefined) return new Promise<never>(() => {});
      if (typeof again === 'string') return `PostgreSQL ${why}, and cannot be started again: ${again}`;
      this.server = again;
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    const late = await this.#starting?.catch(() => undefined);
    await late?.stop();
    await this.server.stop();
  }

  /** Undefined where it was stopped meanwhile. */
  async #startAgain(): Promise<EmbeddedPostgres | undefined> {
    for (let attempt = 1; !this.#stopped.signal.aborted; attempt += 1) {
      try {
        return await startEmbeddedPostgres(this.options);
      } catch (error) {
        if (attempt === START_TRIES) throw error;
        await delay(RETRY_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
    return undefined;
  }
}
