import { rmSync } from 'node:fs';

import pg from 'pg';

import { type EmbeddedPostgres, startEmbeddedPostgres } from '#adapters/embedded-postgres';
import { migrate } from '#adapters/postgres';

import { openFolder } from '../fleet/open-folder.js';

/** A real server for one spec file, and fresh databases on it. */
export interface PostgresServer {
  readonly connectionString: string;
  /** A connection string to a new database with this program's schema. */
  freshDatabase(): Promise<string>;
  /** A connection string to a new database with nothing in it. */
  emptyDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a real PostgreSQL in a temporary folder. */
export async function startPostgresServer(): Promise<PostgresServer> {
  const folder = openFolder('spillway-postgres-');
  const server = await startEmbeddedPostgres({ folder, isDurable: false });
  const maker = new DatabaseMaker(server, folder);
  try {
    await migrate(server.connectionString);
  } catch (error) {
    await maker.stop();
    throw error;
  }
  return maker;
}

class DatabaseMaker implements PostgresServer {
  readonly connectionString: string;
  readonly #server: EmbeddedPostgres;
  readonly #folder: string;
  #count = 0;
  constructor(server: EmbeddedPostgres, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.connectionString = server.connectionString;
  }

  async freshDatabase(): Promise<string> {
    return this.#create('TEMPLATE spillway');
  }

  async emptyDatabase(): Promise<string> {
    return this.#create('');
  }

  async #create(clause: string): Promise<string> {
    this.#count += 1;
    const name = `spillway_${this.#count}`;
    const url = new URL(this.#server.connectionString);
    url.pathname = '/postgres';
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query(`CREATE DATABASE ${name} ${clause}`);
    } finally {
      await client.end();
    }
    url.pathname = `/${name}`;
    return url.href;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
