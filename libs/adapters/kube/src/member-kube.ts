import type { MemberConnection } from '#domain/membership';
import { Secret } from '#platform';

import { fixedToken, type KubeConnection } from './kube-connection.js';

/** The connection that a checked kubeconfig describes, with its secrets wrapped. */
export function memberKubeConnection(member: MemberConnection): KubeConnection {
  const { server, caPem, tlsServerName, credential } = member;
  const base = { server, caPem, tlsServerName };
  if (credential.kind === 'token') return { ...base, credential: { kind: 'token', token: fixedToken(new Secret(credential.token)) } };
  return { ...base, credential: { kind: 'client-certificate', certificatePem: credential.certificatePem, key: new Secret(credential.keyPem) } };
}
