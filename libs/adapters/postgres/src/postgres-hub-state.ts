import { randomUUID } from 'node:crypto';

import { type ChangeTarget, clusterId, FleetError } from '#domain/fleet';
import { type HubAuthority, type HubIdentity, HubStateStore } from '#ports';

import { appendChanges, type Database, sqlOf, type Tx, writeAudit } from './database.js';
import type { HubState } from './generated/client.js';
import { guarded } from './store-errors.js';

const AUTHORITY_CONTEXT = 'hub-authority';

/** Facts that all replicas share, in PostgreSQL. */
export class PostgresHubStateStore extends HubStateStore {
  readonly #db: Database;
  constructor(db: Database) {
    super();
    this.#db = db;
  }

  async identity(): Promise<HubIdentity> {
    return toIdentity(await guarded(() => requireState(this.#db.prisma)));
  }

  async declareRestore(by: string): Promise<HubIdentity> {
    return this.#db.logged(async (tx) => {
      const before = toIdentity(await requireState(tx));
      const data = { restoreCounter: before.restoreCounter + 1, epochId: randomUUID(), epochBeganAt: this.#db.now() };
      const after = toIdentity(await tx.hubState.update({ where: { id: 1 }, data }));
      await tx.cluster.updateMany({ data: { freshness: 'joining', firstListComplete: false } });
      await tx.heartbeat.deleteMany();
      const clusters = await tx.cluster.findMany({ select: { id: true } });
      const ids = clusters.map(({ id }) => id).sort();
      await appendChanges(sqlOf(tx), ids.map((id): ChangeTarget => ({ kind: 'member', clusterId: clusterId(id) })));
      await writeAudit(tx, this.#db.now(), { by, action: 'declareRestore', target: 'fleet', before: { epoch: before.epoch }, after: { epoch: after.epoch } });
      return after;
    });
  }

  async saveAuthority(authority: HubAuthority): Promise<HubAuthority> {
    const sealed = new Uint8Array(this.#db.box.seal(authority.privateKeyPem, AUTHORITY_CONTEXT));
    await guarded(() => this.#db.prisma.hubState.updateMany({ where: { id: 1, authorityCertificate: null }, data: { authorityCertificate: authority.certificatePem, authorityKey: sealed } }));
    return (await this.openAuthority()) ?? authority;
  }

  async openAuthority(): Promise<HubAuthority | undefined> {
    const { authorityCertificate, authorityKey } = await guarded(() => requireState(this.#db.prisma));
    if (authorityCertificate === null || authorityKey === null) return undefined;
    return { certificatePem: authorityCertificate, privateKeyPem: this.#db.box.open(authorityKey, AUTHORITY_CONTEXT) };
  }

  async saveAdminTokenHash(hash: string): Promise<boolean> {
    const { count } = await guarded(() => this.#db.prisma.hubState.updateMany({ where: { id: 1, adminTokenHash: null }, data: { adminTokenHash: hash } }));
    return count > 0;
  }

  async adminTokenHash(): Promise<string | undefined> {
    return (await guarded(() => requireState(this.#db.prisma))).adminTokenHash ?? undefined;
  }
}

async function requireState(tx: Tx): Promise<HubState> {
  const row = await tx.hubState.findUnique({ where: { id: 1 } });
  if (row === null) throw new FleetError('STORE_NOT_INITIALISED', 'user', 'the database has no hub state; run the migrations on it');
  return row;
}

const toIdentity = (row: HubState): HubIdentity => ({ epoch: `${row.restoreCounter}.${row.epochId}`, restoreCounter: row.restoreCounter, epochBeganAtMs: row.epochBeganAt.getTime() });
