import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';

import { identityDigest, IDENTITY_ENTRIES as KEYS, isIntactIdentity } from '#contracts/spoke-api';
import { clusterId } from '#domain/fleet';
import type { Kube, KubeObject, SpokeIdentity } from '#ports';

import { applySecret, secretEntries } from '../own/own-data.js';

/** What the Secret `spillway-identity` holds: a key first, and what Enrol bound to it once it did. */
export interface StoredIdentity {
  readonly privateKeyPem: string;
  /** Digest of the join token that enrolled us last; tells a new token from the one that was used. */
  readonly enrolledTokenSha256: string | undefined;
  readonly bound: SpokeIdentity | undefined;
}

/** A new Ed25519 key, PKCS #8 PEM. */
export function newPrivateKeyPem(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The digest by which a join token is remembered; the token itself is not kept. */
export const tokenSha256 = (joinToken: string): string => createHash('sha256').update(joinToken).digest('hex');

/** Reads an identity Secret; undefined where it holds no key, or not what was saved in it. */
export function parseIdentity(secret: KubeObject): StoredIdentity | undefined {
  const entries = new Map([...secretEntries(secret)].map(([key, bytes]) => [key, bytes.toString('utf8')]));
  const privateKeyPem = entries.get(KEYS.privateKey) ?? '';
  if (!isIntactIdentity(entries) || !isEd25519Key(privateKeyPem)) return undefined;
  const [id, keyId, audience, hubUrl, caBundlePem] = [KEYS.clusterId, KEYS.keyId, KEYS.audience, KEYS.hubUrl, KEYS.ca].map((key) => entries.get(key));
  const isBound = id !== undefined && keyId !== undefined && audience !== undefined && hubUrl !== undefined;
  const bound = isBound ? { clusterId: clusterId(id), keyId, audience, hubUrl, caBundlePem: caBundlePem ?? '', privateKeyPem } : undefined;
  return { privateKeyPem, enrolledTokenSha256: entries.get(KEYS.token), bound };
}

function isEd25519Key(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}

/** Saves an identity in its Secret, as a whole. */
export async function saveIdentity(kube: Kube, ref: { readonly namespace: string; readonly name: string }, identity: StoredIdentity): Promise<void> {
  const entries = new Map<string, string>([[KEYS.privateKey, identity.privateKeyPem]]);
  const put = (key: string, text: string | undefined): void => {
    if (text !== undefined) entries.set(key, text);
  };
  put(KEYS.token, identity.enrolledTokenSha256);
  put(KEYS.clusterId, identity.bound?.clusterId);
  put(KEYS.keyId, identity.bound?.keyId);
  put(KEYS.audience, identity.bound?.audience);
  put(KEYS.hubUrl, identity.bound?.hubUrl);
  put(KEYS.ca, identity.bound?.caBundlePem);
  put(KEYS.digest, identityDigest(entries));
  await applySecret(kube, ref, new Map([...entries].map(([key, text]) => [key, Buffer.from(text)])));
}
