import { createHash, randomBytes, X509Certificate } from 'node:crypto';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { encodeJoinToken } from '#contracts/spoke-api';
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
const MINTED_AT = 'spillway.dev/minted-at';

/** Puts a fresh join token into the member where its spoke needs one: it has not enrolled, or has lost its identity since. */
export async function ensureJoinSecret(kube: Kube, record: ClusterRecord, parts: WorkerParts): Promise<void> {
  if (record.enrolledAtMs !== undefined && (await kube.find(KUBE_KINDS.secret, IDENTITY_SECRET)) !== undefined) return;
  const found = await kube.find(KUBE_KINDS.secret, JOIN_SECRET);
  if (found !== undefined && isUsable(found, record, parts.clock.nowMs())) return;
  const nowMs = parts.clock.nowMs();
  const token = await mintJoinToken(record, parts, nowMs + JOIN_TOKEN_TTL_MS);
  const metadata = { ...JOIN_SECRET, labels: ownLabels('controller'), annotations: { [MINTED_AT]: new Date(nowMs).toISOString() } };
  const secret = manifest(KUBE_KINDS.secret, metadata, { type: 'Opaque', data: { token: Buffer.from(token).toString('base64') } });
  await kube.apply(secret.kind, secret.object, FIELD_MANAGER);
}

// A token that was made before the spoke enrolled is used up; one without our mark was not made here.
function isUsable(secret: KubeObject, record: ClusterRecord, nowMs: number): boolean {
  const mintedAtMs = Date.parse(secret.metadata.annotations?.[MINTED_AT] ?? '');
  if (Number.isNaN(mintedAtMs) || nowMs - mintedAtMs > JOIN_TOKEN_TTL_MS / 2) return false;
  return record.enrolledAtMs === undefined || mintedAtMs > record.enrolledAtMs;
}

async function mintJoinToken(record: ClusterRecord, { store, settings }: WorkerParts, expiresAtMs: number): Promise<string> {
  const authority = await store.hubState.openAuthority();
  if (authority === undefined) throw new FleetError('HUB_NOT_READY', 'transient', 'The hub has not made its certificate authority yet.');
  const secret = randomBytes(32).toString('base64url');
  const tokenHash = createHash('sha256').update(secret).digest('hex');
  await store.enrolment.createJoinToken({ clusterId: record.cluster.id, tokenHash, expiresAtMs, replace: false }, 'worker');
  const caFingerprint = createHash('sha256').update(new X509Certificate(authority.certificatePem).raw).digest('hex');
  return encodeJoinToken({ hubUrl: settings.publicUrl, caFingerprint, clusterId: record.cluster.id, secret });
}
