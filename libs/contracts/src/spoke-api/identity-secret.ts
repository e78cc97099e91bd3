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
} as const;
