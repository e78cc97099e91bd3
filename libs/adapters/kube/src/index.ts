export { HttpKube, type HttpKubeOptions } from './http-kube.adapter.js';
export { fileToken, fixedToken, inClusterConnection, SERVICE_ACCOUNT_FOLDER, TOKEN_FILE_TTL_MS, type KubeConnection, type KubeCredential, type TokenSource } from './kube-connection.js';
export { memberKubeConnection } from './member-kube.js';
