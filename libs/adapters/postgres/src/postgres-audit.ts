import { type AuditEntry, AuditLog } from '#ports';

import { type Database, writeAudit } from './database.js';
import { guarded } from './store-errors.js';

/** The audit log in PostgreSQL. */
export class PostgresAuditLog extends AuditLog {
  readonly #db: Database;
  constructor(db: Database) {
    super();
    this.#db = db;
  }

  async record(entry: Omit<AuditEntry, 'id' | 'atMs'>): Promise<void> {
    await guarded(() => writeAudit(this.#db.prisma, this.#db.now(), entry));
  }

  async list(page: { readonly limit: number; readonly before?: bigint; readonly target?: string }): Promise<readonly AuditEntry[]> {
    const { limit, before, target } = page;
    const where = { ...(before === undefined ? {} : { id: { lt: before } }), ...(target === undefined ? {} : { target }) };
    const rows = await guarded(() => this.#db.prisma.auditEntry.findMany({ where, orderBy: { id: 'desc' }, take: limit }));
    return rows.map(({ id, at, by, action, target: on, before: was, after }) => ({ id, atMs: at.getTime(), by, action, target: on, before: was, after }));
  }
}
