import type { Problem } from '#domain/fleet';

import { asText, decodePem, fieldProblems, type KubeconfigEntry, type RefusedField } from './kubeconfig-fields.js';
import { isLocalAddress } from './local-address.js';

const ACCEPTED = ['server', 'certificate-authority-data', 'tls-server-name', 'disable-compression', 'extensions'];

const REFUSED: readonly RefusedField[] = [
  { field: 'certificate-authority', code: 'KUBECONFIG_CA_FILE', message: 'certificate-authority names a file on the hub; put the certificate inline as certificate-authority-data (kubectl config view --raw --flatten).' },
  { field: 'proxy-url', code: 'KUBECONFIG_PROXY_URL', message: 'proxy-url would send the credential through another server; leave it out.' },
  { field: 'insecure-skip-tls-verify', code: 'KUBECONFIG_INSECURE_SKIP_TLS_VERIFY', message: 'insecure-skip-tls-verify would hand the credential to anybody on the path; give certificate-authority-data instead.' },
];

/** What is wrong with the cluster part: where it leads, and whom it trusts. */
export function clusterProblems(entry: KubeconfigEntry, options: { readonly allowLocalServers: boolean }): readonly Problem[] {
  return [...fieldProblems(entry, ACCEPTED, REFUSED), ...serverProblems(entry, options), ...caProblems(entry), ...serverNameProblems(entry)];
}

function serverProblems(entry: KubeconfigEntry, options: { readonly allowLocalServers: boolean }): readonly Problem[] {
  const path = `${entry.path}.server`;
  const server = asText(entry.value['server']) ?? '';
  if (server === '') return [{ path, code: 'KUBECONFIG_SERVER_MISSING', message: 'Give the address of the API server, such as https://10.0.0.10:6443.' }];
  if (!URL.canParse(server)) return [{ path, code: 'KUBECONFIG_SERVER_INVALID', message: 'The server is no URL; write it like https://10.0.0.10:6443.' }];
  const url = new URL(server);
  if (url.protocol !== 'https:') return [{ path, code: 'KUBECONFIG_SERVER_NOT_HTTPS', message: 'The server must be an https:// URL: anything else would show the credential to the network.' }];
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return [{ path, code: 'KUBECONFIG_SERVER_INVALID', message: 'The server must be host, port and path only, with no user, query or fragment.' }];
  }
  if (!options.allowLocalServers && isLocalAddress(url.hostname)) {
    return [{ path, code: 'KUBECONFIG_SERVER_LOCAL', message: `${url.hostname} is the hub's own machine or link; give an address of the cluster that the hub can reach.` }];
  }
  return [];
}

function caProblems(entry: KubeconfigEntry): readonly Problem[] {
  const value = entry.value['certificate-authority-data'];
  if (value === undefined || value === null || value === '' || decodePem(value) !== undefined) return [];
  return [{ path: `${entry.path}.certificate-authority-data`, code: 'KUBECONFIG_CA_INVALID', message: 'certificate-authority-data must be a PEM certificate in base64.' }];
}

const HOST_NAME = /^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$/;

function serverNameProblems(entry: KubeconfigEntry): readonly Problem[] {
  const value = entry.value['tls-server-name'];
  if (value === undefined || value === null || value === '' || HOST_NAME.test(asText(value) ?? '')) return [];
  return [{ path: `${entry.path}.tls-server-name`, code: 'KUBECONFIG_TLS_SERVER_NAME_INVALID', message: 'tls-server-name must be the host name that the server certificate carries.' }];
}
