import type { Problem } from '#domain/fleet';

import { asText, decodePem, fieldProblems, type KubeconfigEntry, type RefusedField } from './kubeconfig-fields.js';

const ACCEPTED = ['token', 'client-certificate-data', 'client-key-data', 'extensions'];

const IMPERSONATION = 'Impersonation needs rights that the hub must not have; use the credential of the user itself.';
const BASIC_AUTH = 'User name and password are not accepted by API servers any more; use a token or a client certificate.';

const REFUSED: readonly RefusedField[] = [
  { field: 'exec', code: 'KUBECONFIG_EXEC', message: 'exec would run a program on the hub; make a ServiceAccount token in the cluster and give it as token.' },
  { field: 'auth-provider', code: 'KUBECONFIG_AUTH_PROVIDER', message: 'auth-provider would run a plugin on the hub; make a ServiceAccount token in the cluster and give it as token.' },
  { field: 'tokenFile', code: 'KUBECONFIG_TOKEN_FILE', message: 'tokenFile names a file on the hub; give its content as token.' },
  { field: 'client-certificate', code: 'KUBECONFIG_CLIENT_CERT_FILE', message: 'client-certificate names a file on the hub; put it inline as client-certificate-data (kubectl config view --raw --flatten).' },
  { field: 'client-key', code: 'KUBECONFIG_CLIENT_KEY_FILE', message: 'client-key names a file on the hub; put it inline as client-key-data (kubectl config view --raw --flatten).' },
  { field: 'username', code: 'KUBECONFIG_BASIC_AUTH', message: BASIC_AUTH },
  { field: 'password', code: 'KUBECONFIG_BASIC_AUTH', message: BASIC_AUTH },
  { field: 'as', code: 'KUBECONFIG_IMPERSONATION', message: IMPERSONATION },
  { field: 'as-uid', code: 'KUBECONFIG_IMPERSONATION', message: IMPERSONATION },
  { field: 'as-groups', code: 'KUBECONFIG_IMPERSONATION', message: IMPERSONATION },
  { field: 'as-user-extra', code: 'KUBECONFIG_IMPERSONATION', message: IMPERSONATION },
];

/** What is wrong with the user part: a token, or a client certificate with its key, all inline; nothing else. */
export function userProblems(entry: KubeconfigEntry): readonly Problem[] {
  const refused = fieldProblems(entry, ACCEPTED, REFUSED);
  return [...refused, ...credentialProblems(entry, refused.length > 0)];
}

function credentialProblems(entry: KubeconfigEntry, isRefused: boolean): readonly Problem[] {
  const has = (field: string): boolean => entry.value[field] !== undefined && entry.value[field] !== null && entry.value[field] !== '';
  const problems = [...formatProblems(entry, has), ...pairingProblems(entry, has)];
  // A refused way to log in is already reported; that nothing else is there is its consequence.
  if (isRefused || ['token', 'client-certificate-data', 'client-key-data'].some(has)) return problems;
  return [...problems, { path: entry.path, code: 'KUBECONFIG_NO_CREDENTIAL', message: 'The user has no credential; give a token, or client-certificate-data with client-key-data.' }];
}

function formatProblems({ path, value }: KubeconfigEntry, has: (field: string) => boolean): readonly Problem[] {
  const problems: Problem[] = [];
  const check = (field: string, isGood: boolean, code: string, message: string): void => {
    if (has(field) && !isGood) problems.push({ path: `${path}.${field}`, code, message });
  };
  const isPem = (field: string): boolean => decodePem(value[field]) !== undefined;
  check('token', /^[\x21-\x7e]+$/.test(asText(value['token']) ?? ''), 'KUBECONFIG_TOKEN_INVALID', 'The token must be one line of printable characters without spaces.');
  check('client-certificate-data', isPem('client-certificate-data'), 'KUBECONFIG_CLIENT_CERT_INVALID', 'client-certificate-data must be a PEM certificate in base64.');
  check('client-key-data', isPem('client-key-data'), 'KUBECONFIG_CLIENT_KEY_INVALID', 'client-key-data must be a PEM private key in base64.');
  return problems;
}

function pairingProblems({ path }: KubeconfigEntry, has: (field: string) => boolean): readonly Problem[] {
  const problems: Problem[] = [];
  if (has('client-certificate-data') !== has('client-key-data')) {
    const missing = has('client-key-data') ? 'client-certificate-data' : 'client-key-data';
    problems.push({ path: `${path}.${missing}`, code: 'KUBECONFIG_CREDENTIAL_INCOMPLETE', message: `A client certificate needs both parts; add ${missing}.` });
  }
  if (has('token') && has('client-certificate-data')) {
    problems.push({ path: `${path}.token`, code: 'KUBECONFIG_CREDENTIAL_AMBIGUOUS', message: 'The user has a token and a client certificate; keep one of them.' });
  }
  return problems;
}
