export { HttpKube } from './http-kube.adapter.js';
export { fileToken, fixedToken, inClusterConnection, TOKEN_FILE_TTL_MS, type KubeConnection } from './kube-connection.js';
export { memberKubeConnection } from './member-kube.js';
