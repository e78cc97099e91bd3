import { createHash } from 'node:crypto';

import { clusterId, FleetError } from '#domain/fleet';
import { type EnrolmentClaim, EnrolmentStore, type JoinTokenGrant, type JoinTokenState, type SpokeKey } from '#ports';

import { appendChanges, type Database, sqlOf, type Tx, writeAudit } from './database.js';
import { type Cluster, type JoinToken, Prisma, type SpokeKey as KeyRow } from './generated/client.js';
import { removeParts } from './postgres-membership.js';
import { clusterNotFound, guarded } from './store-errors.js';

const DEAD_TOKENS_KEPT_MS = 24 * 60 * 60 * 1_000;

/** Enrolment in PostgreSQL. */
export class PostgresEnrolmentStore extends EnrolmentStore {
  readonly #db: Database;
  constructor(db: Database) {
    super();
    this.#db = db;
  }

  async createJoinToken(grant: JoinTokenGrant, by: string): Promise<void> {
    const { clusterId: id, tokenHash, expiresAtMs, replace } = grant;
    await this.#db.transaction(async (tx) => {
      if ((await tx.cluster.count({ where: { id } })) === 0) throw clusterNotFound(id);
      // Nobody repeats a call with a token that ran out a day ago.
      await tx.joinToken.deleteMany({ where: { expiresAt: { lt: new Date(this.#db.clock.nowMs() - DEAD_TOKENS_KEPT_MS) } } });
      await tx.joinToken.create({ data: { tokenHash, clusterId: id, replace, createdAt: this.#db.now(), expiresAt: new Date(expiresAtMs) } });
      await writeAudit(tx, this.#db.now(), { by, action: 'createJoinToken', target: `cluster/${id}`, before: null, after: { expiresAtMs, replace } });
    });
  }

  async findJoinToken(tokenHash: string): Promise<JoinTokenState | undefined> {
    const row = await guarded(() => this.#db.prisma.joinToken.findUnique({ where: { tokenHash } }));
    return row === null ? undefined : { clusterId: clusterId(row.clusterId), expiresAtMs: row.expiresAt.getTime(), isUsed: row.usedUid !== null };
  }

  async enrol(claim: EnrolmentClaim, overlapMs: number): Promise<SpokeKey> {
    const keyId = keyIdOf(claim.publicKey);
    // Whoever has no token of ours must not queue for the lock of the log.
    if ((await guarded(() => this.#db.prisma.joinToken.count({ where: { tokenHash: claim.tokenHash } }))) === 0) throw foreignToken(claim);
    return this.#db.logged(async (tx) => {
      const token = await tx.joinToken.findUnique({ where: { tokenHash: claim.tokenHash }, include: { cluster: { omit: { kubeconfig: true } } } });
      if (token === null || token.clusterId !== claim.clusterId) throw foreignToken(claim);
      if (token.usedUid !== null) return answeredBefore(tx, token, { uid: claim.clusterUid, keyId });
      await this.#checkClaim(tx, token, claim);
      await this.#bind(tx, token, claim);
      return this.#addKey(tx, { keyId, clusterId: claim.clusterId, publicKey: claim.publicKey, notAfterMs: undefined }, overlapMs);
    });
  }

  async #checkClaim(tx: Tx, token: BoundToken, claim: EnrolmentClaim): Promise<void> {
    if (this.#db.clock.nowMs() > token.expiresAt.getTime()) throw new FleetError('ENROL_TOKEN_EXPIRED', 'user', 'this join token is past its time; create a new one');
    const other = await tx.cluster.findFirst({ where: { uid: claim.clusterUid, id: { not: claim.clusterId } }, select: { id: true } });
    if (other !== null) throw new FleetError('ENROL_UID_TAKEN', 'user', `this cluster is a member under the name ${other.id}; remove that first`);
    if (token.cluster.uid !== '' && token.cluster.uid !== claim.clusterUid && !token.replace) {
      throw new FleetError('ENROL_NAME_TAKEN', 'user', `the name ${claim.clusterId} belongs to another cluster; remove that first, or create the token with replace`);
    }
    await checkKeyOwner(tx, keyIdOf(claim.publicKey), claim.clusterId);
  }

  async #bind(tx: Tx, token: BoundToken, claim: EnrolmentClaim): Promise<void> {
    const { clusterId: id, clusterUid: uid, spokeVersion } = claim;
    const isOtherUid = token.cluster.uid !== uid;
    const isReplaced = isOtherUid && token.cluster.uid !== '';
    if (isReplaced) {
      await tx.spokeKey.deleteMany({ where: { clusterId: id } });
      await tx.heartbeat.deleteMany({ where: { clusterId: id } });
      await removeParts(tx, { id, now: this.#db.now() }, [{ kind: 'member', clusterId: id }]);
    } else if (isOtherUid) {
      await appendChanges(sqlOf(tx), [{ kind: 'member', clusterId: id }]);
    }
    const forgotten = isReplaced ? { freshness: 'joining', firstListComplete: false, reportDigest: '', reach: Prisma.DbNull, reachDigest: '' } : {};
    await tx.cluster.update({ where: { id }, data: { uid, spokeVersion, enrolledAt: this.#db.now(), ...forgotten } });
    await tx.joinToken.update({ where: { tokenHash: token.tokenHash }, data: { usedUid: uid, usedKeyId: keyIdOf(claim.publicKey) } });
    await writeAudit(tx, this.#db.now(), { by: `spoke/${id}`, action: 'enrol', target: `cluster/${id}`, before: { uid: token.cluster.uid }, after: { uid } });
  }

  async findKey(keyId: string): Promise<SpokeKey | undefined> {
    const row = await guarded(() => this.#db.prisma.spokeKey.findUnique({ where: { keyId } }));
    if (row === null || (row.notAfter !== null && this.#db.clock.nowMs() > row.notAfter.getTime())) return undefined;
    return toSpokeKey(row);
  }

  async rotateKey(signedBy: SpokeKey, newPublicKey: string, overlapMs: number): Promise<SpokeKey> {
    const keyId = keyIdOf(newPublicKey);
    if (keyId === signedBy.keyId) return signedBy;
    const { clusterId: id } = signedBy;
    return this.#db.transaction(async (tx) => {
      const locked = await sqlOf(tx)('SELECT id FROM clusters WHERE id = $1 FOR UPDATE', id);
      if (locked.length === 0) throw clusterNotFound(id);
      await checkKeyOwner(tx, keyId, id);
      await writeAudit(tx, this.#db.now(), { by: `spoke/${id}`, action: 'rotateKey', target: `cluster/${id}`, before: { keyId: signedBy.keyId }, after: { keyId } });
      return this.#addKey(tx, { keyId, clusterId: id, publicKey: newPublicKey, notAfterMs: undefined }, overlapMs);
    });
  }

  async #addKey(tx: Tx, key: SpokeKey, overlapMs: number): Promise<SpokeKey> {
    const endsAt = new Date(this.#db.clock.nowMs() + overlapMs);
    const { keyId, clusterId: id, publicKey } = key;
    await tx.spokeKey.updateMany({ where: { clusterId: id, OR: [{ notAfter: null }, { notAfter: { gt: endsAt } }] }, data: { notAfter: endsAt } });
    await tx.spokeKey.upsert({ where: { keyId }, create: { keyId, clusterId: id, publicKey, createdAt: this.#db.now() }, update: { notAfter: null } });
    return key;
  }
}

type BoundToken = JoinToken & { readonly cluster: Pick<Cluster, 'uid'> };

const foreignToken = ({ clusterId: id }: EnrolmentClaim): FleetError => new FleetError('ENROL_TOKEN_FOREIGN', 'user', `this hub made no such join token for ${id}; create one here`);

async function answeredBefore(tx: Tx, token: JoinToken, claim: { readonly uid: string; readonly keyId: string }): Promise<SpokeKey> {
  const row = token.usedUid === claim.uid && token.usedKeyId === claim.keyId ? await tx.spokeKey.findUnique({ where: { keyId: claim.keyId } }) : null;
  if (row === null) throw new FleetError('ENROL_TOKEN_USED', 'user', 'this join token was used before; create a new one');
  return toSpokeKey(row);
}

async function checkKeyOwner(tx: Tx, keyId: string, id: string): Promise<void> {
  const owner = await tx.spokeKey.findUnique({ where: { keyId } });
  if (owner !== null && owner.clusterId !== id) throw new FleetError('ENROL_KEY_TAKEN', 'user', "this key is another cluster's; make a new one");
}

const toSpokeKey = (row: KeyRow): SpokeKey => ({ keyId: row.keyId, clusterId: clusterId(row.clusterId), publicKey: row.publicKey, notAfterMs: row.notAfter?.getTime() });

const keyIdOf = (publicKey: string): string => createHash('sha256').update(Buffer.from(publicKey, 'base64url')).digest('base64url');
