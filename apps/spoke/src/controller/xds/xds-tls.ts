import { createAuthority, issueServing, isSignedBy, readCertificate, type KeyedCertificate } from '#adapters/certificates';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { Clock, Kube, KubeRef } from '#ports';

import { applySecret, applyTextConfigMap, createSecret, secretEntries, type Entries } from '../own/own-data.js';

/** What the xDS listener serves with, and what its clients trust. */
export interface XdsTls {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly caBundlePem: string;
  /** When the serving certificate must be replaced, epoch ms. */
  readonly renewAtMs: number;
}

/** Where the key material lives, and for which names. */
export interface XdsTlsOptions {
  readonly namespace: string;
  readonly secretName: string;
  readonly caConfigMapName: string;
  /** DNS names and ClusterIPs that clients dial. */
  readonly names: readonly string[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Lives of the authority and of the serving certificate. */
export const XDS_TLS_LIFE = { authorityMs: 3_650 * DAY_MS, servingMs: 90 * DAY_MS } as const;
/** Clocks of nodes may be behind the controller's. */
const BACKDATE_MS = 60 * 60 * 1000;
/** A certificate is replaced when this part of its life is left. */
const RENEW_LEFT = 1 / 3;

const KEYS = { caCertificate: 'ca.crt', caKey: 'ca.key', certificate: 'tls.crt', key: 'tls.key' } as const;

/**
 * Makes sure of a valid serving certificate under our own authority: creates both where there are none, replaces the
 * serving certificate when a third of its life is left or its names changed, and the authority likewise (the old one stays
 * in the published bundle until it expires). Idempotent; two replicas that race end with one authority.
 */
export async function ensureXdsTls(kube: Kube, clock: Clock, options: XdsTlsOptions): Promise<XdsTls> {
  const ref = { namespace: options.namespace, name: options.secretName };
  const found = await kube.find(KUBE_KINDS.secret, ref);
  const stored = found === undefined ? undefined : secretEntries(found);
  const material = (await stillGood(stored, options.names, clock.nowMs())) ?? (await renew(kube, clock, { ref, stored, isNew: found === undefined, names: options.names }));
  if (material === undefined) return ensureXdsTls(kube, clock, options);
  await applyTextConfigMap(kube, { namespace: options.namespace, name: options.caConfigMapName }, { 'ca.crt': material.caBundlePem });
  return material;
}

async function stillGood(stored: Entries | undefined, names: readonly string[], nowMs: number): Promise<XdsTls | undefined> {
  const [certificatePem, privateKeyPem, caBundlePem] = [KEYS.certificate, KEYS.key, KEYS.caCertificate].map((key) => stored?.get(key)?.toString('utf8'));
  const signer = pemsOf(stored)[0];
  if (certificatePem === undefined || privateKeyPem === undefined || caBundlePem === undefined || signer === undefined) return undefined;
  const facts = readCertificate(certificatePem);
  if (facts === undefined || !names.every((name) => facts.names.includes(name))) return undefined;
  const renewAtMs = renewalMs(certificatePem);
  if (nowMs >= renewAtMs || !(await isSignedBy(certificatePem, signer).catch(() => false))) return undefined;
  return { certificatePem, privateKeyPem, caBundlePem, renewAtMs };
}

interface Renewal {
  readonly ref: Required<KubeRef> & { readonly namespace: string };
  readonly stored: Entries | undefined;
  readonly isNew: boolean;
  readonly names: readonly string[];
}

/** Undefined where another replica created the Secret first. */
async function renew(kube: Kube, clock: Clock, renewal: Renewal): Promise<XdsTls | undefined> {
  const nowMs = clock.nowMs();
  const kept = authorityOf(renewal.stored, nowMs);
  const authority = kept ?? (await createAuthority('spillway-xds', { nowMs, backdateMs: BACKDATE_MS, lifeMs: XDS_TLS_LIFE.authorityMs }));
  const serving = await issueServing(authority, renewal.names, { nowMs, backdateMs: BACKDATE_MS, lifeMs: XDS_TLS_LIFE.servingMs });
  const caBundlePem = kept === undefined ? bundle(authority, renewal.stored, nowMs) : (renewal.stored?.get(KEYS.caCertificate)?.toString('utf8') ?? authority.certificatePem);
  const entries = new Map([
    [KEYS.caCertificate, caBundlePem],
    [KEYS.caKey, authority.privateKeyPem],
    [KEYS.certificate, serving.certificatePem],
    [KEYS.key, serving.privateKeyPem],
  ].map(([key, text]) => [key as string, Buffer.from(text as string)] as const));
  try {
    if (renewal.isNew) await createSecret(kube, renewal.ref, entries);
    else await applySecret(kube, renewal.ref, entries);
  } catch (error) {
    if (isFleetError(error) && error.code === 'KUBE_ALREADY_EXISTS') return undefined;
    throw error;
  }
  return { ...serving, caBundlePem, renewAtMs: renewalMs(serving.certificatePem) };
}

function authorityOf(stored: Entries | undefined, nowMs: number): KeyedCertificate | undefined {
  const certificatePem = pemsOf(stored)[0];
  const privateKeyPem = stored?.get(KEYS.caKey)?.toString('utf8');
  if (certificatePem === undefined || privateKeyPem === undefined) return undefined;
  return readCertificate(certificatePem) !== undefined && nowMs < renewalMs(certificatePem) ? { certificatePem, privateKeyPem } : undefined;
}

// The newest authority first: it is the one that signs. An older one that is still valid stays trusted meanwhile.
function bundle(authority: KeyedCertificate, stored: Entries | undefined, nowMs: number): string {
  const stillValid = pemsOf(stored).filter((pem) => (readCertificate(pem)?.notAfterMs ?? 0) > nowMs);
  return [authority.certificatePem, ...stillValid].map((pem) => `${pem.trim()}\n`).join('');
}

function pemsOf(stored: Entries | undefined): readonly string[] {
  return stored?.get(KEYS.caCertificate)?.toString('utf8').match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g) ?? [];
}

function renewalMs(pem: string): number {
  const facts = readCertificate(pem);
  return facts === undefined ? 0 : facts.notAfterMs - (facts.notAfterMs - facts.notBeforeMs) * RENEW_LEFT;
}
