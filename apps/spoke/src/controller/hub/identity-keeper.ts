import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';

import { KUBE_KINDS } from '#contracts/kube-objects';
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
  /** Since when the key is ours, epoch ms; undefined where an older version saved it. */
  readonly keySinceMs: number | undefined;
  /** A key that is about to take over: saved before the hub hears of it, for the hub may hear of it and we not of the answer. */
  readonly nextPrivateKeyPem: string | undefined;
  /** The key before this one: a hub on a backup from before the rotation knows that one alone. */
  readonly previous: RetiredKey | undefined;
}

/** A key that another has taken over from. */
export interface RetiredKey {
  readonly keyId: string;
  readonly privateKeyPem: string;
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
  return { privateKeyPem, enrolledTokenSha256: entries.get(KEYS.token), bound, keySinceMs: numberOf(entries.get(KEYS.keySince)), nextPrivateKeyPem: entries.get(KEYS.nextPrivateKey), previous: previousOf(entries) };
}

function isEd25519Key(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}

function previousOf(entries: ReadonlyMap<string, string>): RetiredKey | undefined {
  const [keyId, privateKeyPem] = [entries.get(KEYS.previousKeyId), entries.get(KEYS.previousPrivateKey)];
  return keyId === undefined || privateKeyPem === undefined ? undefined : { keyId, privateKeyPem };
}

const numberOf = (text: string | undefined): number | undefined => (text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined);

/**
 * Changes the identity Secret, one change after another, each made from what the Secret holds at that moment: a change that was
 * made from an older state would bring back a key that the hub has ended.
 */
export class IdentityWriter {
  #last: Promise<unknown> = Promise.resolve();

  /** `known` is what this process goes by where the Secret is gone or holds no key. */
  constructor(
    private readonly kube: Kube,
    private readonly ref: { readonly namespace: string; readonly name: string },
    private readonly known: () => StoredIdentity | undefined,
  ) {}

  /** What the Secret holds after the change; one that gives back its argument writes nothing, unless the Secret was lost. */
  async update<T extends StoredIdentity | undefined>(change: (now: StoredIdentity | undefined) => T): Promise<T> {
    const run = this.#last.then(() => this.#update(change));
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #update<T extends StoredIdentity | undefined>(change: (now: StoredIdentity | undefined) => T): Promise<T> {
    const found = await this.kube.find(KUBE_KINDS.secret, this.ref);
    const stored = found === undefined ? undefined : parseIdentity(found);
    const next = change(stored ?? this.known());
    if (next !== undefined && next !== stored) await saveIdentity(this.kube, this.ref, next);
    return next;
  }
}

/** Saves an identity in its Secret, as a whole. */
async function saveIdentity(kube: Kube, ref: { readonly namespace: string; readonly name: string }, identity: StoredIdentity): Promise<void> {
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
  put(KEYS.keySince, identity.keySinceMs?.toString());
  put(KEYS.nextPrivateKey, identity.nextPrivateKeyPem);
  put(KEYS.previousKeyId, identity.previous?.keyId);
  put(KEYS.previousPrivateKey, identity.previous?.privateKeyPem);
  put(KEYS.digest, identityDigest(entries));
  await applySecret(kube, ref, new Map([...entries].map(([key, text]) => [key, Buffer.from(text)])));
}
