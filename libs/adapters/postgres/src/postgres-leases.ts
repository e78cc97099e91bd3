import { type Lease, LeaseStore } from '#ports';

import type { Database } from './database.js';
import { guarded } from './store-errors.js';

// Judged by the database's clock, the one clock that all holders share. A lease that ran out goes to whoever asks, with the next token.
const ACQUIRE_SQL = `
INSERT INTO leases (name, holder, fencing_token, expires_at) VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE SET
  holder = excluded.holder,
  fencing_token = leases.fencing_token + CASE WHEN leases.expires_at <= clock_timestamp() THEN 1 ELSE 0 END,
  expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= clock_timestamp()
RETURNING fencing_token, expires_at`;

/** Leases in PostgreSQL. */
export class PostgresLeaseStore extends LeaseStore {
  readonly #db: Database;
  constructor(db: Database) {
    super();
    this.#db = db;
  }

  async acquire(lease: string, holder: string, ttlMs: number): Promise<Lease | undefined> {
    const { rows } = await guarded(() => this.#db.pool.query<{ fencing_token: string; expires_at: Date }>(ACQUIRE_SQL, [lease, holder, ttlMs]));
    const row = rows[0];
    return row === undefined ? undefined : { lease, holder, fencingToken: BigInt(row.fencing_token), expiresAtMs: row.expires_at.getTime() };
  }

  async release(lease: Lease): Promise<void> {
    await guarded(() => this.#db.pool.query("UPDATE leases SET expires_at = 'epoch' WHERE name = $1 AND fencing_token = $2", [lease.lease, lease.fencingToken]));
  }
}
