import { Inject, Injectable } from '@nestjs/common';

import { FleetError } from '#domain/fleet';
import { FleetStore, type AuditEntry } from '#ports';

import { checkedPageSize, formatCursor, parseCursor, type PageRequest } from '../graphql/page.js';
import type { AuditEntryModel, AuditLogPage } from './audit.model.js';

/** Shows who changed what. */
@Injectable()
export class AuditService {
  constructor(@Inject(FleetStore) private readonly store: FleetStore) {}

  async list({ first, after }: PageRequest, target: string | undefined): Promise<AuditLogPage> {
    const limit = checkedPageSize(first);
    // One more than asked for tells whether there is a next page.
    const entries = await this.store.audit.list({ limit: limit + 1, ...(after === undefined ? {} : { before: toId(after) }), ...(target === undefined ? {} : { target }) });
    const nodes = entries.slice(0, limit).map(toModel);
    return { nodes, endCursor: entries.length > limit ? formatCursor(nodes.at(-1)?.id ?? '') : undefined };
  }
}

function toId(cursor: string): bigint {
  const key = parseCursor(cursor);
  if (/^\d{1,18}$/.test(key)) return BigInt(key);
  throw new FleetError('CURSOR_INVALID', 'user', 'The cursor was not made by this list; take "endCursor" of the page before.');
}

const toModel = ({ id, atMs, by, action, target, before, after }: AuditEntry): AuditEntryModel => ({ id: id.toString(), at: new Date(atMs), by, action, target, before, after });
