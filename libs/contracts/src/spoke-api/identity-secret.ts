import { digest } from '#domain/fleet';

/** Entries of the Secret `spillway-identity`: the spoke writes them, and a worker reads which hub and key it is bound to. */
export const IDENTITY_ENTRIES = {
  privateKey: 'private-key.pem',
  /** Digest of the join token that enrolled the spoke last. */
  token: 'enrolled-token-sha256',
  clusterId: 'cluster-id',
  keyId: 'key-id',
  audience: 'audience',
  hubUrl: 'hub-url',
  ca: 'ca.crt',
  /** Since when the key is the spoke's, epoch milliseconds. */
  keySince: 'key-since-ms',
  /** A key that is about to take over; saved before the hub hears of it. */
  nextPrivateKey: 'next-private-key.pem',
  /** The key before this one: a hub that went back to a backup may know no other. */
  previousPrivateKey: 'previous-private-key.pem',
  previousKeyId: 'previous-key-id',
  /** Digest of all others: an entry that was lost, cut off or changed makes the whole no identity. */
  digest: 'digest',
} as const;

/** The digest of an identity's entries; the entry that holds it does not count. */
export function identityDigest(entries: ReadonlyMap<string, string>): string {
  const others = [...entries].filter(([key]) => key !== IDENTITY_ENTRIES.digest).sort(([a], [b]) => (a < b ? -1 : 1));
  return digest(JSON.stringify(others));
}

/** Whether an identity's entries are what was saved together; entries that came without a digest are taken as they are. */
export function isIntactIdentity(entries: ReadonlyMap<string, string>): boolean {
  const saved = entries.get(IDENTITY_ENTRIES.digest);
  return saved === undefined || saved === identityDigest(entries);
}
