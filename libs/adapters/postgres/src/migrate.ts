import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import pg from 'pg';

import { FleetError } from '#domain/fleet';

import { guarded } from './store-errors.js';

/** One migration of a folder. */
interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file, hex, as Prisma keeps it. */
  readonly checksum: string;
}

// The table as Prisma makes it, so that its own tools can read a database of ours.
const TABLE_SQL = `
CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id                  varchar(36) PRIMARY KEY NOT NULL,
  checksum            varchar(64) NOT NULL,
  finished_at         timestamptz,
  migration_name      varchar(255) NOT NULL,
  logs                text,
  rolled_back_at      timestamptz,
  started_at          timestamptz NOT NULL DEFAULT now(),
  applied_steps_count integer NOT NULL DEFAULT 0
)`;

/** The migrations that came with this program. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../prisma/migrations', import.meta.url));

/**
 * Brings a database to this program's schema, under a lock so that replicas may start together. Returns the names that were
 * applied now. Throws MIGRATION_DRIFT (`user`: an applied migration is not the one in the folder, or the database is of a
 * newer program), MIGRATION_FAILED (`user`; the failed migration left nothing) or STORE_UNAVAILABLE (`transient`).
 */
export async function migrate(connectionString: string, folder: string = MIGRATIONS_FOLDER): Promise<readonly string[]> {
  const migrations = readMigrations(folder);
  return guarded(async () => {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('SELECT pg_advisory_lock(7316002)');
      await client.query(TABLE_SQL);
      return await applyMissing(client, migrations);
    } finally {
      await client.end();
    }
  });
}

function readMigrations(folder: string): readonly Migration[] {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
  return names.map((name) => {
    const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

async function applyMissing(client: pg.Client, migrations: readonly Migration[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ migration_name: string; checksum: string }>('SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL');
  const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]));
  checkDrift(applied, migrations);
  const missing = migrations.filter((migration) => !applied.has(migration.name));
  for (const migration of missing) await applyOne(client, migration);
  return missing.map((migration) => migration.name);
}

function checkDrift(applied: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.name, migration.checksum]));
  for (const [name, checksum] of applied) {
    if (!known.has(name)) throw new FleetError('MIGRATION_DRIFT', 'user', `the database has migration ${name}, which this version does not know; run a version at least as new`);
    if (known.get(name) !== checksum) throw new FleetError('MIGRATION_DRIFT', 'user', `migration ${name} was applied from another text than this version's; migrations are never edited once applied`);
  }
}

async function applyOne(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  try {
    await client.query('BEGIN');
    await client.query(sql);
    await client.query('INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES ($1, $2, $3, now(), 1)', [randomUUID(), checksum, name]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new FleetError('MIGRATION_FAILED', 'user', `migration ${name} failed and was taken back: ${reason}`, { cause: error });
  }
}
