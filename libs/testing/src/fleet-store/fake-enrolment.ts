import { createHash } from 'node:crypto';

import { FleetError } from '#domain/fleet';
import { type ClusterRecord, type EnrolmentClaim, EnrolmentStore, type JoinTokenGrant, type JoinTokenState, type SpokeKey } from '#ports';

import { type FakeState, type FakeTokenRow, withCluster } from './fake-state.js';

/** Join tokens and spoke keys over {@link FakeState}. */
export class FakeEnrolmentStore extends EnrolmentStore {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async createJoinToken(grant: JoinTokenGrant, by: string): Promise<void> {
    this.#state.requireCluster(grant.clusterId);
    this.#state.tables.tokens.set(grant.tokenHash, { ...grant, usedBy: undefined });
    this.#state.audit({ by, action: 'createJoinToken', target: `cluster/${grant.clusterId}`, before: null, after: { expiresAtMs: grant.expiresAtMs, replace: grant.replace } });
  }

  async findJoinToken(tokenHash: string): Promise<JoinTokenState | undefined> {
    const row = this.#state.begin().tokens.get(tokenHash);
    return row === undefined ? undefined : { clusterId: row.clusterId, expiresAtMs: row.expiresAtMs, isUsed: row.usedBy !== undefined };
  }

  async enrol(claim: EnrolmentClaim, overlapMs: number): Promise<SpokeKey> {
    const tables = this.#state.begin();
    const token = tables.tokens.get(claim.tokenHash);
    const row = tables.clusters.get(claim.clusterId);
    if (token === undefined || row === undefined || token.clusterId !== claim.clusterId) {
      throw new FleetError('ENROL_TOKEN_FOREIGN', 'user', `this hub made no such join token for ${claim.clusterId}; create one here`);
    }
    const keyId = keyIdOf(claim.publicKey);
    const again = this.#answeredBefore(token, claim, keyId);
    if (again !== undefined) return again;
    this.#checkClaim(token, row, claim);
    this.#bind(token, row, claim, overlapMs);
    return this.#addKey({ keyId, clusterId: claim.clusterId, publicKey: claim.publicKey, notAfterMs: undefined }, overlapMs);
  }

  #answeredBefore(token: FakeTokenRow, claim: EnrolmentClaim, keyId: string): SpokeKey | undefined {
    if (token.usedBy === undefined) return undefined;
    const key = this.#state.tables.keys.get(keyId);
    if (key !== undefined && token.usedBy.uid === claim.clusterUid && token.usedBy.keyId === keyId) return key;
    throw new FleetError('ENROL_TOKEN_USED', 'user', 'this join token was used before; create a new one');
  }

  #checkClaim(token: FakeTokenRow, row: ClusterRecord, claim: EnrolmentClaim): void {
    const { tables, clock } = this.#state;
    if (clock.nowMs() > token.expiresAtMs) throw new FleetError('ENROL_TOKEN_EXPIRED', 'user', 'this join token is past its time; create a new one');
    const other = [...tables.clusters.values()].find((candidate) => candidate.cluster.uid === claim.clusterUid && candidate.cluster.id !== claim.clusterId);
    if (other !== undefined) throw new FleetError('ENROL_UID_TAKEN', 'user', `this cluster is a member under the name ${other.cluster.id}; remove that first`);
    if (row.cluster.uid !== '' && row.cluster.uid !== claim.clusterUid && !token.replace) {
      throw new FleetError('ENROL_NAME_TAKEN', 'user', `the name ${claim.clusterId} belongs to another cluster; remove that first, or create the token with replace`);
    }
    this.#checkKeyOwner(keyIdOf(claim.publicKey), claim.clusterId);
  }

  #checkKeyOwner(keyId: string, clusterId: string): void {
    const owner = this.#state.tables.keys.get(keyId);
    if (owner !== undefined && owner.clusterId !== clusterId) throw new FleetError('ENROL_KEY_TAKEN', 'user', "this key is another cluster's; make a new one");
  }

  #bind(token: FakeTokenRow, row: ClusterRecord, claim: EnrolmentClaim, _overlapMs: number): void {
    const { tables, clock } = this.#state;
    const { id } = row.cluster;
    const isReplaced = row.cluster.uid !== '' && row.cluster.uid !== claim.clusterUid;
    if (isReplaced) {
      this.#state.removeParts(id);
      for (const key of [...tables.keys.values()].filter((candidate) => candidate.clusterId === id)) tables.keys.delete(key.keyId);
    }
    const kept = isReplaced ? { freshness: 'joining' as const, firstListComplete: false, reach: undefined, spoke: undefined } : {};
    const bound = withCluster({ ...row, ...kept }, { uid: claim.clusterUid });
    tables.clusters.set(id, { ...bound, enrolledAtMs: clock.nowMs(), versions: { ...row.versions, spoke: claim.spokeVersion } });
    tables.tokens.set(token.tokenHash, { ...token, usedBy: { uid: claim.clusterUid, keyId: keyIdOf(claim.publicKey) } });
    if (row.cluster.uid !== claim.clusterUid) this.#state.append({ kind: 'member', clusterId: id });
    this.#state.audit({ by: `spoke/${id}`, action: 'enrol', target: `cluster/${id}`, before: { uid: row.cluster.uid }, after: { uid: claim.clusterUid } });
  }

  async findKey(keyId: string): Promise<SpokeKey | undefined> {
    const key = this.#state.begin().keys.get(keyId);
    if (key?.notAfterMs !== undefined && this.#state.clock.nowMs() > key.notAfterMs) return undefined;
    return key;
  }

  async rotateKey(signedBy: SpokeKey, newPublicKey: string, overlapMs: number): Promise<SpokeKey> {
    const keyId = keyIdOf(newPublicKey);
    this.#state.requireCluster(signedBy.clusterId);
    this.#checkKeyOwner(keyId, signedBy.clusterId);
    if (keyId === signedBy.keyId) return signedBy;
    this.#state.audit({ by: `spoke/${signedBy.clusterId}`, action: 'rotateKey', target: `cluster/${signedBy.clusterId}`, before: { keyId: signedBy.keyId }, after: { keyId } });
    return this.#addKey({ keyId, clusterId: signedBy.clusterId, publicKey: newPublicKey, notAfterMs: undefined }, overlapMs);
  }

  #addKey(key: SpokeKey, overlapMs: number): SpokeKey {
    const { tables, clock } = this.#state;
    const endsAtMs = clock.nowMs() + overlapMs;
    for (const other of [...tables.keys.values()].filter((candidate) => candidate.clusterId === key.clusterId)) {
      tables.keys.set(other.keyId, { ...other, notAfterMs: Math.min(other.notAfterMs ?? endsAtMs, endsAtMs) });
    }
    tables.keys.set(key.keyId, key);
    return key;
  }
}

/** base64url SHA-256 of the raw public key. */
const keyIdOf = (publicKey: string): string => createHash('sha256').update(Buffer.from(publicKey, 'base64url')).digest('base64url');
