/** How a client proves itself in a kubeconfig. */
export type KubeconfigUser = { readonly certPem: string; readonly keyPem: string } | { readonly token: string };

/** Everything a client needs to talk to an API server. */
export interface KubeAccess {
  readonly server: string;
  readonly caPem: string;
  readonly user: KubeconfigUser;
}

/** Renders a kubeconfig with everything inline, as JSON (which is YAML). */
export function renderKubeconfig(clusterName: string, access: KubeAccess): string {
  const user = 'token' in access.user ? { token: access.user.token } : { 'client-certificate-data': base64(access.user.certPem), 'client-key-data': base64(access.user.keyPem) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusterName,
    clusters: [{ name: clusterName, cluster: { server: access.server, 'certificate-authority-data': base64(access.caPem) } }],
    users: [{ name: clusterName, user }],
    contexts: [{ name: clusterName, context: { cluster: clusterName, user: clusterName } }],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
