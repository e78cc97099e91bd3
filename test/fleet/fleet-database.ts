import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import pg from 'pg';

import { startEmbeddedPostgres, type EmbeddedPostgres } from '#adapters/embedded-postgres';

const run = promisify(execFile);

/**
 * The fleet's own PostgreSQL. Its folder can be backed up while it runs, put back, or exchanged for an empty one; address and
 * password stay the same throughout, so that hub and worker need no other configuration.
 */
export class FleetDatabase {
  readonly #folder: string;
  readonly #port: number;
  #server: EmbeddedPostgres | undefined;
  #connectionString = '';

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  /** Starts a server on a folder of its own, which may hold a database already. */
  static async start(folder: string, port: number): Promise<FleetDatabase> {
    mkdirSync(folder, { mode: 0o711 });
    const database = new FleetDatabase(folder, port);
    await database.start();
    return database;
  }

  get connectionString(): string {
    return this.#connectionString;
  }

  async start(): Promise<void> {
    this.#server = await startEmbeddedPostgres({ folder: this.#current, isDurable: false, port: this.#port });
    this.#connectionString = this.#server.connectionString;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** Takes a base backup by PostgreSQL's own rules while everything runs on: mark, copy the files, end the mark, add its log. */
  async backUp(): Promise<void> {
    rmSync(this.#backup, { recursive: true, force: true });
    // Begin and end of the mark belong to one session.
    const client = new pg.Client({ connectionString: this.#connectionString });
    await client.connect();
    try {
      await client.query("SELECT pg_backup_start('fleet', true)");
      await copyFolder(this.#current, this.#backup);
      const { rows } = await client.query<{ readonly labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
      const label = join(this.#backup, 'data/backup_label');
      writeFileSync(label, rows[0]?.labelfile ?? '', { mode: 0o600 });
      // PostgreSQL must own what it is to read.
      const { uid, gid } = statSync(join(this.#backup, 'data/PG_VERSION'));
      chownSync(label, uid, gid);
      await copyFolder(join(this.#current, 'data/pg_wal'), join(this.#backup, 'data/pg_wal'));
      for (const leftOver of ['postmaster.pid', 'postmaster.opts']) rmSync(join(this.#backup, 'data', leftOver), { force: true });
    } finally {
      await client.end();
    }
  }

  /** Puts the backup in the place of the stopped database. */
  async putBack(): Promise<void> {
    this.#requireStopped();
    if (!existsSync(this.#backup)) throw new Error('there is no backup to put back');
    rmSync(join(this.#current, 'data'), { recursive: true });
    await copyFolder(join(this.#backup, 'data'), join(this.#current, 'data'));
  }

  /** Forgets the stopped database: the next start makes an empty one. */
  async empty(): Promise<void> {
    this.#requireStopped();
    rmSync(join(this.#current, 'data'), { recursive: true });
  }

  get #current(): string {
    return join(this.#folder, 'current');
  }

  get #backup(): string {
    return join(this.#folder, 'backup');
  }

  #requireStopped(): void {
    if (this.#server !== undefined) throw new Error('stop the database before its files are exchanged');
  }
}

// With owners and modes: PostgreSQL runs as a user of its own, and takes no folder of another's.
async function copyFolder(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  // Files may come and go below a running server; the log that is added afterwards makes the copy whole.
  await run('cp', ['-a', `${from}/.`, to]).catch((error: unknown) => {
    if (!String(error).includes('No such file or directory')) throw error;
  });
}
