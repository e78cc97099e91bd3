import pg from 'pg';

import { CHANGE_LOG_CHANNEL } from './database.js';

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

/**
 * One connection that LISTENs for all followers of a process. A broken one is made again for ever, and every listener is
 * called after it, since notices may have been lost meanwhile.
 */
export class AdvanceListener {
  readonly #connectionString: string;
  readonly #listeners = new Set<() => void>();
  #client: pg.Client | undefined;
  #starting: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connectionString: string) {
    this.#connectionString = connectionString;
  }

  /** Adds a listener; resolves once notices reach it, or at once where the database is away (they will). */
  async listen(listener: () => void): Promise<() => Promise<void>> {
    this.#listeners.add(listener);
    this.#starting ??= this.#connect(RETRY_FIRST_MS);
    await this.#starting;
    return async () => {
      this.#listeners.delete(listener);
    };
  }

  async #connect(retryMs: number): Promise<void> {
    const client = new pg.Client({ connectionString: this.#connectionString, keepAlive: true, connectionTimeoutMillis: 5_000 });
    const lost = (): void => {
      client.removeAllListeners('end');
      this.#client = undefined;
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.#reconnect(retryMs), retryMs);
    };
    client.on('error', () => undefined);
    client.once('end', lost);
    client.on('notification', () => this.#wakeAll());
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANGE_LOG_CHANNEL}`);
      this.#client = client;
    } catch {
      await client.end().catch(() => undefined);
      if (client.listenerCount('end') > 0) lost();
    }
  }

  async #reconnect(retryMs: number): Promise<void> {
    await this.#connect(Math.min(retryMs * 2, RETRY_MAX_MS));
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const listener of this.#listeners) listener();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#listeners.clear();
    await this.#starting;
    await this.#client?.end().catch(() => undefined);
  }
}
