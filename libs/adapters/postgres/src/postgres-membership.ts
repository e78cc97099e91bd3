import { isDeepStrictEqual } from 'node:util';

import { type BackendName, byKey, type ChangeTarget, type ClusterId, FleetError } from '#domain/fleet';
import { type ClusterObservation, type ClusterRecord, type ClusterRegistration, type ClusterUpdate, type Fence, MembershipStore } from '#ports';

import { auditViewOf, CLUSTER_READ, type ClusterRow, toClusterRecord } from './cluster-row.js';
import { appendChanges, checkFence, type Database, sqlOf, type Tx, writeAudit } from './database.js';
import type { Prisma } from './generated/client.js';
import { clusterNotFound, guarded } from './store-errors.js';

/** Membership in PostgreSQL. */
export class PostgresMembershipStore extends MembershipStore {
  readonly #db: Database;
  constructor(db: Database) {
    super();
    this.#db = db;
  }

  async register(registration: ClusterRegistration, by: string): Promise<ClusterRecord> {
    const { id, labels, region, zone, network, credential } = registration;
    return this.#db.logged(async (tx) => {
      if ((await tx.cluster.count({ where: { id } })) > 0) throw new FleetError('CLUSTER_NAME_TAKEN', 'user', `the name ${id} is in use; choose another, or remove that cluster first`);
      const sealed = credential === undefined ? {} : { kubeconfig: this.#seal(id, credential.kubeconfig), serverUrl: credential.serverUrl };
      const data = { id, labels, region, zone, network, freshness: 'joining', registeredAt: this.#db.now(), ...sealed };
      const row = await tx.cluster.create({ data, ...CLUSTER_READ });
      await appendChanges(sqlOf(tx), [{ kind: 'member', clusterId: id }]);
      await writeAudit(tx, this.#db.now(), { by, action: 'registerCluster', target: `cluster/${id}`, before: null, after: auditViewOf(row) });
      return toClusterRecord(row);
    });
  }

  #seal(id: ClusterId, kubeconfig: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#db.box.seal(kubeconfig, kubeconfigContext(id)));
  }

  async update(id: ClusterId, update: ClusterUpdate, by: string): Promise<ClusterRecord> {
    const { credential, labels, ...place } = update;
    return this.#db.logged(async (tx) => {
      const before = await requireRow(tx, id);
      const sealed = credential === undefined ? {} : { kubeconfig: this.#seal(id, credential.kubeconfig), serverUrl: credential.serverUrl };
      const data: Prisma.ClusterUpdateInput = { ...place, ...(labels === undefined ? {} : { labels: { ...labels } }), ...sealed };
      const after = await tx.cluster.update({ where: { id }, data, ...CLUSTER_READ });
      const isMoved = !isDeepStrictEqual(toClusterRecord(after).cluster, toClusterRecord(before).cluster);
      if (isMoved) await appendChanges(sqlOf(tx), [{ kind: 'member', clusterId: id }]);
      await writeAudit(tx, this.#db.now(), { by, action: 'updateCluster', target: `cluster/${id}`, before: auditViewOf(before), after: auditViewOf(after) });
      return toClusterRecord(after);
    });
  }

  async find(id: ClusterId): Promise<ClusterRecord | undefined> {
    const row = await guarded(() => this.#db.prisma.cluster.findUnique({ where: { id }, ...CLUSTER_READ }));
    return row === null ? undefined : toClusterRecord(row);
  }

  async list(): Promise<readonly ClusterRecord[]> {
    const rows = await guarded(() => this.#db.prisma.cluster.findMany(CLUSTER_READ));
    return rows.map(toClusterRecord).sort(byKey((record) => record.cluster.id));
  }

  async openKubeconfig(id: ClusterId): Promise<string | undefined> {
    const row = await guarded(() => this.#db.prisma.cluster.findUnique({ where: { id }, select: { kubeconfig: true } }));
    if (row === null || row.kubeconfig === null) return undefined;
    return this.#db.box.open(row.kubeconfig, kubeconfigContext(id));
  }

  async recordObservation(id: ClusterId, observation: ClusterObservation, fence: Fence | undefined): Promise<void> {
    // Only a uid is in the fleet view, and so in the change log; the rest need not queue for its lock.
    const run = observation.uid === undefined ? this.#db.transaction.bind(this.#db) : this.#db.logged.bind(this.#db);
    await run(async (tx) => {
      await checkFence(sqlOf(tx), fence);
      await sqlOf(tx)('SELECT id FROM clusters WHERE id = $1 FOR UPDATE', id);
      const before = await requireRow(tx, id);
      if (observation.uid !== undefined) await checkUid(tx, before, observation.uid);
      await tx.cluster.update({ where: { id }, data: observedColumns(before, observation) });
      if (observation.uid !== undefined && observation.uid !== before.uid) await appendChanges(sqlOf(tx), [{ kind: 'member', clusterId: id }]);
    });
  }

  async requestRemoval(id: ClusterId, options: { readonly force: boolean; readonly by: string }): Promise<ClusterRecord> {
    const { force, by } = options;
    return this.#db.transaction(async (tx) => {
      await sqlOf(tx)('SELECT id FROM clusters WHERE id = $1 FOR UPDATE', id);
      const before = await requireRow(tx, id);
      const data = before.removalRequestedAt === null ? { removalRequestedAt: this.#db.now(), removalForce: force, removalBy: by } : { removalForce: before.removalForce || force };
      const after = await tx.cluster.update({ where: { id }, data, ...CLUSTER_READ });
      const view = { ...auditViewOf(after), removal: { force: after.removalForce } };
      await writeAudit(tx, this.#db.now(), { by, action: 'removeCluster', target: `cluster/${id}`, before: auditViewOf(before), after: view });
      return toClusterRecord(after);
    });
  }

  async remove(id: ClusterId, options: { readonly by: string; readonly fence: Fence | undefined }): Promise<void> {
    await this.#db.logged(async (tx) => {
      await checkFence(sqlOf(tx), options.fence);
      const before = await tx.cluster.findUnique({ where: { id }, ...CLUSTER_READ });
      if (before === null) return;
      await removeParts(tx, { id, now: this.#db.now() }, [{ kind: 'member', clusterId: id }]);
      await tx.cluster.delete({ where: { id } });
      await writeAudit(tx, this.#db.now(), { by: options.by, action: 'clusterRemoved', target: `cluster/${id}`, before: auditViewOf(before), after: null });
    });
  }
}

const kubeconfigContext = (id: ClusterId): string => `kubeconfig/${id}`;

async function requireRow(tx: Tx, id: ClusterId): Promise<ClusterRow> {
  const row = await tx.cluster.findUnique({ where: { id }, ...CLUSTER_READ });
  if (row === null) throw clusterNotFound(id);
  return row;
}

async function checkUid(tx: Tx, row: ClusterRow, uid: string): Promise<void> {
  if (row.uid !== '' && row.uid !== uid) throw new FleetError('CLUSTER_UID_CHANGED', 'user', `the name ${row.id} is bound to another cluster; remove it first, or fix its kubeconfig`);
  const other = await tx.cluster.findFirst({ where: { uid, id: { not: row.id } }, select: { id: true } });
  if (other !== null) throw new FleetError('CLUSTER_UID_TAKEN', 'user', `this cluster is a member under the name ${other.id}; remove one of the two`);
}

function observedColumns(row: ClusterRow, observation: ClusterObservation): Prisma.ClusterUpdateInput {
  const { uid, kubernetesVersion, inventory, conditions = [] } = observation;
  const replaced = new Set(conditions.map((condition) => condition.type));
  const kept = toClusterRecord(row).conditions.filter((condition) => !replaced.has(condition.type));
  const merged = [...kept, ...conditions].sort(byKey((condition) => condition.type));
  return {
    ...(uid === undefined ? {} : { uid }),
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    ...(inventory === undefined ? {} : { inventory: inventory as unknown as Prisma.InputJsonValue }),
    conditions: merged as unknown as Prisma.InputJsonValue,
  };
}

/** Deletes a cluster's parts and frees their gateway ports, logs each by name, then logs what else changed with them. */
export async function removeParts(tx: Tx, { id, now }: { readonly id: ClusterId; readonly now: Date }, also: readonly ChangeTarget[]): Promise<void> {
  const rows = await tx.memberBackend.findMany({ where: { clusterId: id }, select: { name: true } });
  await tx.memberBackend.deleteMany({ where: { clusterId: id } });
  await tx.gatewayPort.updateMany({ where: { clusterId: id, releasedAt: null }, data: { releasedAt: now } });
  const gone = rows.map((row): ChangeTarget => ({ kind: 'part', clusterId: id, name: row.name as BackendName })).sort(byKey((target) => ('name' in target ? target.name : '')));
  await appendChanges(sqlOf(tx), [...gone, ...also]);
}
