import { invariant } from '#domain/fleet';

import { chooseContext, type KubeconfigOptions } from './kubeconfig.js';
import { asText, decodePem } from './kubeconfig-fields.js';

/** How to reach a member's API server: all that is taken from a kubeconfig. */
export interface MemberConnection {
  readonly server: string;
  readonly caPem: string | undefined;
  readonly tlsServerName: string | undefined;
  readonly credential:
    | { readonly kind: 'token'; readonly token: string }
    | { readonly kind: 'client-certificate'; readonly certificatePem: string; readonly keyPem: string };
}

/** The connection that a kubeconfig without problems describes. */
export function memberConnection(raw: unknown, options: KubeconfigOptions): MemberConnection {
  const choice = chooseContext(raw, options);
  invariant(!('problems' in choice), 'a kubeconfig is checked with kubeconfigProblems before it is used');
  const { cluster, user } = choice;
  const token = asText(user.value['token']);
  return {
    server: asText(cluster.value['server']) ?? '',
    caPem: decodePem(cluster.value['certificate-authority-data']),
    tlsServerName: asText(cluster.value['tls-server-name']),
    credential:
      token === undefined || token === ''
        ? { kind: 'client-certificate', certificatePem: decodePem(user.value['client-certificate-data']) ?? '', keyPem: decodePem(user.value['client-key-data']) ?? '' }
        : { kind: 'token', token },
  };
}
