import { createHash, randomBytes, X509Certificate } from 'node:crypto';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { encodeJoinToken, IDENTITY_ENTRIES, isIntactIdentity, parseJoinToken } from '#contracts/spoke-api';
import { FleetError } from '#domain/fleet';
import type { ClusterRecord, Kube, KubeObject } from '#ports';

import { manifest, ownLabels, SPOKE_NAMESPACE } from '../member-manifests/index.js';
import type { WorkerParts } from './worker-parts.js';

/** Field manager of everything that the worker applies. */
export const FIELD_MANAGER = 'spillway';

/** How long a join token lives. It is made anew at half its life while the spoke has not enrolled. */
const JOIN_TOKEN_TTL_MS = 24 * 3_600_000;

const JOIN_SECRET = { namespace: SPOKE_NAMESPACE, name: 'spillway-join' };
const IDENTITY_SECRET = { namespace: SPOKE_NAMESPACE, name: 'spillway-identity' };

/**
 * Puts a fresh join token into the member where its spoke needs one: it has not enrolled, has lost its identity, or is bound to
 * what this hub is not: to an emptied database, to a key that a backup does not have, to another address.
 */
export async function ensureJoinSecret(kube: Kube, record: ClusterRecord, parts: WorkerParts): Promise<void> {
  if (await isBoundHere(await kube.find(KUBE_KINDS.secret, IDENTITY_SECRET), record, parts)) return;
  const caFingerprint = await authorityFingerprint(parts);
  if (await isUsable(await kube.find(KUBE_KINDS.secret, JOIN_SECRET), record, { parts, caFingerprint })) return;
  const token = await mintJoinToken(record, caFingerprint, parts);
  const metadata = { ...JOIN_SECRET, labels: ownLabels('controller') };
  const secret = manifest(KUBE_KINDS.secret, metadata, { type: 'Opaque', data: { token: Buffer.from(token).toString('base64') } });
  await kube.apply(secret.kind, secret.object, FIELD_MANAGER);
}

// Whether the spoke's key opens this hub, by the hub's own word: that it did once says nothing of the database of today.
async function isBoundHere(identity: KubeObject | undefined, { cluster }: ClusterRecord, { store, settings }: WorkerParts): Promise<boolean> {
  const entries = identity === undefined ? new Map<string, string>() : entriesOf(identity);
  const keyId = entries.get(IDENTITY_ENTRIES.keyId) ?? '';
  if (keyId === '' || entries.get(IDENTITY_ENTRIES.hubUrl) !== settings.publicUrl || !isIntactIdentity(entries)) return false;
  return (await store.enrolment.findKey(keyId))?.clusterId === cluster.id;
}

// A token of another hub, or one that this database does not hold, is a token of nobody, however new it is.
async function isUsable(secret: KubeObject | undefined, { cluster }: ClusterRecord, now: { readonly parts: WorkerParts; readonly caFingerprint: string }): Promise<boolean> {
  const token = secret === undefined ? undefined : parseJoinToken(entriesOf(secret).get('token') ?? '');
  const { store, settings, clock } = now.parts;
  if (token === undefined || token.hubUrl !== settings.publicUrl || token.caFingerprint !== now.caFingerprint) return false;
  const known = await store.enrolment.findJoinToken(hashOf(token.secret));
  return known?.clusterId === cluster.id && !known.isUsed && known.expiresAtMs - clock.nowMs() > JOIN_TOKEN_TTL_MS / 2;
}

function entriesOf(secret: KubeObject): ReadonlyMap<string, string> {
  const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
  return new Map(Object.entries(data).map(([key, base64]) => [key, Buffer.from(base64, 'base64').toString('utf8')]));
}

async function authorityFingerprint({ store }: WorkerParts): Promise<string> {
  const authority = await store.hubState.openAuthority();
  if (authority === undefined) throw new FleetError('HUB_NOT_READY', 'transient', 'The hub has not made its certificate authority yet.');
  return createHash('sha256').update(new X509Certificate(authority.certificatePem).raw).digest('hex');
}

async function mintJoinToken(record: ClusterRecord, caFingerprint: string, { store, settings, clock }: WorkerParts): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  const grant = { clusterId: record.cluster.id, tokenHash: hashOf(secret), expiresAtMs: clock.nowMs() + JOIN_TOKEN_TTL_MS, replace: false };
  await store.enrolment.createJoinToken(grant, 'worker');
  return encodeJoinToken({ hubUrl: settings.publicUrl, caFingerprint, clusterId: record.cluster.id, secret });
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
