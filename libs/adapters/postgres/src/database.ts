import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';

import type { ChangeTarget } from '#domain/fleet';
import { FleetError } from '#domain/fleet';
import type { AuditEntry, Clock, Fence, SecretBox } from '#ports';

import { Prisma, PrismaClient } from './generated/client.js';
import { guarded } from './store-errors.js';

/** A Prisma client inside a transaction. */
export type Tx = Prisma.TransactionClient;

/** Runs SQL with `$n` parameters: one face for Prisma transactions and for plain connections. */
export type RunSql = (text: string, ...params: readonly unknown[]) => Promise<Record<string, unknown>[]>;

/** The channel that wakes followers of the change log. */
export const CHANGE_LOG_CHANNEL = 'spillway_change_log';

// The one lock under which every log write takes its number, held to the end of its transaction: numbers become visible in order.
const LOG_LOCK_SQL = 'SELECT pg_advisory_xact_lock(7316001)::text AS locked';

const APPEND_SQL = `
WITH entries AS (
  SELECT ord, kind, cluster_id, name, coalesce(namespaces, '[]') AS namespaces
  FROM jsonb_to_recordset($1::text::jsonb) AS e(ord bigint, kind text, cluster_id text, name text, namespaces jsonb)
), head AS (
  UPDATE hub_state SET sequence = sequence + (SELECT count(*) FROM entries) WHERE id = 1 RETURNING sequence AS last
), added AS (
  INSERT INTO change_log (sequence, kind, cluster_id, name, namespaces)
  SELECT head.last - (SELECT count(*) FROM entries) + ord, kind, cluster_id, name, namespaces FROM entries, head
)
SELECT last, pg_notify('${CHANGE_LOG_CHANNEL}', last::text)::text AS notified FROM head`;

const FENCE_SQL = 'SELECT fencing_token FROM leases WHERE name = $1 FOR SHARE';

const TRANSACTION_OPTIONS = { maxWait: 10_000, timeout: 30_000 } as const;

/** One database with its two doors: Prisma for rows, plain connections for what is hot or large. */
export class Database {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  readonly clock: Clock;
  readonly box: SecretBox;

  constructor(options: { readonly connectionString: string; readonly poolSizeMax: number; readonly clock: Clock; readonly box: SecretBox }) {
    this.pool = new pg.Pool({ connectionString: options.connectionString, max: options.poolSizeMax, connectionTimeoutMillis: 5_000, statement_timeout: 30_000, keepAlive: true });
    // An idle connection that breaks is replaced at the next call, which says so if that fails.
    this.pool.on('error', () => undefined);
    // One that breaks in the middle of a transaction says so twice: to the call, and by an event that would end the process.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    this.prisma = new PrismaClient({ adapter: new PrismaPg(this.pool) });
    this.clock = options.clock;
    this.box = options.box;
  }

  now(): Date {
    return new Date(this.clock.nowMs());
  }

  /** A transaction that writes the change log: one at a time in the whole fleet. */
  async logged<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction(async (tx) => {
      await sqlOf(tx)(LOG_LOCK_SQL);
      return work(tx);
    });
  }

  /** A transaction that does not write the change log. */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return guarded(() => this.prisma.$transaction(work, TRANSACTION_OPTIONS));
  }

  /** A logged transaction on a plain connection. */
  async loggedSql<T>(work: (sql: RunSql) => Promise<T>): Promise<T> {
    return this.#plain('BEGIN', async (sql) => {
      await sql(LOG_LOCK_SQL);
      return work(sql);
    });
  }

  /** Reads of one moment of the database. */
  async snapshot<T>(work: (sql: RunSql) => Promise<T>): Promise<T> {
    return this.#plain('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work);
  }

  async #plain<T>(begin: string, work: (sql: RunSql) => Promise<T>): Promise<T> {
    return guarded(async () => {
      const client = await this.pool.connect();
      const sql: RunSql = async (text, ...params) => (await client.query<Record<string, unknown>>(text, [...params])).rows;
      try {
        await client.query(begin);
        const result = await work(sql);
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        await client.query('ROLLBACK').then(
          () => client.release(),
          (broken: Error) => client.release(broken),
        );
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.prisma.$disconnect();
    await this.pool.end();
  }
}

/** SQL inside a Prisma transaction. */
export const sqlOf =
  (tx: Tx): RunSql =>
  (text, ...params) =>
    tx.$queryRawUnsafe(text, ...params);

/** Appends to the change log and wakes followers at commit; returns each target's number. Only under the log lock. */
export async function appendChanges(sql: RunSql, targets: readonly ChangeTarget[]): Promise<readonly bigint[]> {
  if (targets.length === 0) return [];
  const entries = targets.map((target, index) => ({
    ord: index + 1,
    kind: target.kind,
    cluster_id: 'clusterId' in target ? target.clusterId : undefined,
    name: 'name' in target ? target.name : undefined,
    namespaces: 'namespaces' in target ? target.namespaces : undefined,
  }));
  const [row] = await sql(APPEND_SQL, JSON.stringify(entries));
  const first = BigInt(String(row?.['last'])) - BigInt(targets.length) + 1n;
  return targets.map((_, index) => first + BigInt(index));
}

/** Throws STORE_FENCED unless the fence is the lease's latest; holds the lease row until the transaction ends. */
export async function checkFence(sql: RunSql, fence: Fence | undefined): Promise<void> {
  if (fence === undefined) return;
  const [row] = await sql(FENCE_SQL, fence.lease);
  if (row === undefined || BigInt(String(row['fencing_token'])) !== fence.fencingToken) {
    throw new FleetError('STORE_FENCED', 'transient', `lease ${fence.lease} has a newer holder; this write is void`);
  }
}

/** Writes an audit entry in the transaction of its change. */
export async function writeAudit(tx: Tx, at: Date, entry: Omit<AuditEntry, 'id' | 'atMs'>): Promise<void> {
  const { by, action, target, before, after } = entry;
  await tx.auditEntry.create({ data: { at, by, action, target, before: asJson(before), after: asJson(after) } });
}

const asJson = (value: unknown): Prisma.InputJsonValue | typeof Prisma.DbNull => (value === null || value === undefined ? Prisma.DbNull : value);
