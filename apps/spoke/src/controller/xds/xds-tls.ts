import { createAuthority, isKeyOf, isSignedBy, issueServing, readCertificate, type KeyedCertificate } from '#adapters/certificates';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { Clock, Kube } from '#ports';

import { applySecret, applyTextConfigMap, createSecret, secretEntries, type Entries } from '../own/own-data.js';

/** What the xDS listener serves with, and what its clients trust. */
export interface XdsTls {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly caBundlePem: string;
  readonly caPrivateKeyPem: string;
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
  /** What this process serves with already: put back should the Secret be gone or broken, so that clients need not learn another CA. */
  readonly known?: XdsTls | undefined;
  /** Told what was wrong with a Secret that is there, or was there while this process knew it. */
  readonly onFlaw?: (flaw: string) => void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Lives of the authority and of the serving certificate. */
export const XDS_TLS_LIFE = { authorityMs: 3_650 * DAY_MS, servingMs: 90 * DAY_MS } as const;
/** Clocks of nodes may be hours behind the controller's, and must still find a new certificate valid. */
const BACKDATE_MS = DAY_MS;
/** A certificate is replaced when this part of its life is left. */
const RENEW_LEFT = 1 / 3;

const KEYS = { caCertificate: 'ca.crt', caKey: 'ca.key', certificate: 'tls.crt', key: 'tls.key' } as const;

/** Key material as far as it is whole. */
interface Material {
  /** Certificates that read, the one that signs first; older ones stay trusted until they expire. */
  readonly bundle: readonly string[];
  /** The first of the bundle, where its key is there. */
  readonly authority: KeyedCertificate | undefined;
  /** Where its key is there and the first of the bundle signed it. */
  readonly serving: KeyedCertificate | undefined;
}

/**
 * Makes sure of a valid serving certificate under our own authority: creates both where there are none, replaces the
 * serving certificate when a third of its life is left or its names changed, and the authority likewise (the old one stays
 * in the published bundle until it expires). What does not fit together counts as not there. Idempotent; two replicas that
 * race end with one authority.
 */
export async function ensureXdsTls(kube: Kube, clock: Clock, options: XdsTlsOptions): Promise<XdsTls> {
  const ref = { namespace: options.namespace, name: options.secretName };
  const found = await kube.find(KUBE_KINDS.secret, ref);
  const stored = found === undefined ? undefined : materialOf(secretEntries(found));
  const flaw = flawOf(stored, options.known);
  if (flaw !== undefined) options.onFlaw?.(flaw);
  const base = flaw === undefined || options.known === undefined ? stored : materialOf(entriesOf(options.known));
  const material = stillGood(base, options.names, clock.nowMs()) ?? (await renewed(base, options.names, clock.nowMs()));
  if (base !== stored || material.certificatePem !== stored?.serving?.certificatePem) {
    if (!(await isSaved(kube, ref, { material, isNew: found === undefined }))) return ensureXdsTls(kube, clock, options);
  }
  await applyTextConfigMap(kube, { namespace: options.namespace, name: options.caConfigMapName }, { 'ca.crt': material.caBundlePem });
  return material;
}

function materialOf(entries: Entries): Material {
  const text = (key: string): string => entries.get(key)?.toString('utf8') ?? '';
  const bundle = pemsOf(text(KEYS.caCertificate)).filter((pem) => readCertificate(pem) !== undefined);
  const [signer = ''] = bundle;
  const authority = { certificatePem: signer, privateKeyPem: text(KEYS.caKey) };
  const serving = { certificatePem: text(KEYS.certificate), privateKeyPem: text(KEYS.key) };
  const isPair = (pair: KeyedCertificate): boolean => isKeyOf(pair.privateKeyPem, pair.certificatePem);
  return {
    bundle,
    authority: isPair(authority) ? authority : undefined,
    serving: isPair(serving) && isSignedBy(serving.certificatePem, signer) ? serving : undefined,
  };
}

function flawOf(stored: Material | undefined, known: XdsTls | undefined): string | undefined {
  if (stored === undefined) return known === undefined ? undefined : 'it is gone';
  if (stored.authority === undefined) return 'its ca.crt and ca.key do not read as a certificate and its key';
  return stored.serving === undefined ? 'its tls.crt and tls.key do not read as a certificate of its authority and its key' : undefined;
}

function stillGood(material: Material | undefined, names: readonly string[], nowMs: number): XdsTls | undefined {
  const { authority, serving } = material ?? {};
  if (material === undefined || authority === undefined || serving === undefined) return undefined;
  const carried = readCertificate(serving.certificatePem)?.names ?? [];
  const renewAtMs = renewalMs(serving.certificatePem);
  if (nowMs >= renewAtMs || !names.every((name) => carried.includes(name))) return undefined;
  return { ...serving, caBundlePem: bundleText(material.bundle), caPrivateKeyPem: authority.privateKeyPem, renewAtMs };
}

async function renewed(material: Material | undefined, names: readonly string[], nowMs: number): Promise<XdsTls> {
  const kept = material?.authority !== undefined && nowMs < renewalMs(material.authority.certificatePem) ? material.authority : undefined;
  const authority = kept ?? (await createAuthority('spillway-xds', { nowMs, backdateMs: BACKDATE_MS, lifeMs: XDS_TLS_LIFE.authorityMs }));
  const serving = await issueServing(authority, names, { nowMs, backdateMs: BACKDATE_MS, lifeMs: XDS_TLS_LIFE.servingMs });
  const trusted = (material?.bundle ?? []).filter((pem) => (readCertificate(pem)?.notAfterMs ?? 0) > nowMs);
  // The newest authority first: it is the one that signs.
  const bundle = kept === undefined ? [authority.certificatePem, ...trusted] : trusted;
  return { ...serving, caBundlePem: bundleText(bundle), caPrivateKeyPem: authority.privateKeyPem, renewAtMs: renewalMs(serving.certificatePem) };
}

/** False where another replica created the Secret first. */
async function isSaved(kube: Kube, ref: { readonly namespace: string; readonly name: string }, { material, isNew }: { readonly material: XdsTls; readonly isNew: boolean }): Promise<boolean> {
  try {
    if (isNew) await createSecret(kube, ref, entriesOf(material));
    else await applySecret(kube, ref, entriesOf(material));
    return true;
  } catch (error) {
    if (isFleetError(error) && error.code === 'KUBE_ALREADY_EXISTS') return false;
    throw error;
  }
}

const entriesOf = (tls: XdsTls): Entries =>
  new Map([
    [KEYS.caCertificate, Buffer.from(tls.caBundlePem)],
    [KEYS.caKey, Buffer.from(tls.caPrivateKeyPem)],
    [KEYS.certificate, Buffer.from(tls.certificatePem)],
    [KEYS.key, Buffer.from(tls.privateKeyPem)],
  ]);

const bundleText = (pems: readonly string[]): string => pems.map((pem) => `${pem.trim()}\n`).join('');

const pemsOf = (text: string): readonly string[] => text.match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g) ?? [];

function renewalMs(pem: string): number {
  const facts = readCertificate(pem);
  return facts === undefined ? 0 : facts.notAfterMs - (facts.notAfterMs - facts.notBeforeMs) * RENEW_LEFT;
}
