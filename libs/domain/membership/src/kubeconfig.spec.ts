import { describe, expect, it } from '@jest/globals';

import { chosenKubeconfig, kubeconfigProblems, memberConnection, type KubeconfigOptions } from './index.js';

const PEM = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64');
const KEY = Buffer.from('-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n').toString('base64');
const REMOTE: KubeconfigOptions = { allowLocalServers: false };

interface Parts {
  readonly cluster?: Record<string, unknown>;
  readonly user?: Record<string, unknown>;
  readonly top?: Record<string, unknown>;
}

function kubeconfig({ cluster, user, top }: Parts = {}): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'east',
    contexts: [{ name: 'east', context: { cluster: 'east', user: 'hub' } }],
    clusters: [{ name: 'east', cluster: cluster ?? { server: 'https://10.0.0.10:6443', 'certificate-authority-data': PEM } }],
    users: [{ name: 'hub', user: user ?? { token: 'abc' } }],
    ...top,
  };
}

const withUser = (fields: Record<string, unknown>): Record<string, unknown> => kubeconfig({ user: { token: 'abc', ...fields } });
const withCluster = (fields: Record<string, unknown>): Record<string, unknown> => kubeconfig({ cluster: { server: 'https://10.0.0.10:6443', ...fields } });
const codes = (raw: unknown, options = REMOTE): string[] => kubeconfigProblems(raw, options).map((problem) => problem.code);

describe('a kubeconfig of inline data only', () => {
  it.each([
    { name: 'with a token', raw: kubeconfig() },
    { name: 'with a client certificate and its key', raw: kubeconfig({ user: { 'client-certificate-data': PEM, 'client-key-data': KEY } }) },
    { name: 'that trusts the system CAs', raw: kubeconfig({ cluster: { server: 'https://api.example.com' } }) },
    { name: 'with one context and no current-context', raw: kubeconfig({ top: { 'current-context': undefined } }) },
    { name: 'with fields that say nothing', raw: withUser({ exec: null, tokenFile: '', as: '' }) },
    { name: 'with verification switched on explicitly', raw: withCluster({ 'insecure-skip-tls-verify': false }) },
  ])('is accepted $name', ({ raw }) => {
    expect(kubeconfigProblems(raw, REMOTE)).toEqual([]);
  });
});

describe('what would read files, run programs or leave the server unverified', () => {
  it.each([
    { name: 'exec', raw: withUser({ exec: { command: 'sh' } }), want: 'KUBECONFIG_EXEC' },
    { name: 'auth-provider', raw: withUser({ 'auth-provider': { name: 'gcp' } }), want: 'KUBECONFIG_AUTH_PROVIDER' },
    { name: 'tokenFile', raw: withUser({ tokenFile: '/etc/shadow' }), want: 'KUBECONFIG_TOKEN_FILE' },
    { name: 'a CA file', raw: withCluster({ 'certificate-authority': '/ca.pem' }), want: 'KUBECONFIG_CA_FILE' },
    { name: 'a client certificate file', raw: withUser({ 'client-certificate': 'c.pem' }), want: 'KUBECONFIG_CLIENT_CERT_FILE' },
    { name: 'a client key file', raw: withUser({ 'client-key': 'k.pem' }), want: 'KUBECONFIG_CLIENT_KEY_FILE' },
    { name: 'proxy-url', raw: withCluster({ 'proxy-url': 'http://10.0.0.1' }), want: 'KUBECONFIG_PROXY_URL' },
    { name: 'impersonation of a user', raw: withUser({ as: 'admin' }), want: 'KUBECONFIG_IMPERSONATION' },
    { name: 'impersonation of groups', raw: withUser({ 'as-groups': ['system:masters'] }), want: 'KUBECONFIG_IMPERSONATION' },
    { name: 'impersonation of a uid', raw: withUser({ 'as-uid': '1' }), want: 'KUBECONFIG_IMPERSONATION' },
    { name: 'impersonation with extras', raw: withUser({ 'as-user-extra': { a: ['b'] } }), want: 'KUBECONFIG_IMPERSONATION' },
    { name: 'insecure-skip-tls-verify', raw: withCluster({ 'insecure-skip-tls-verify': true }), want: 'KUBECONFIG_INSECURE_SKIP_TLS_VERIFY' },
    { name: 'a user name', raw: withUser({ username: 'u' }), want: 'KUBECONFIG_BASIC_AUTH' },
    { name: 'a password', raw: withUser({ password: 'p' }), want: 'KUBECONFIG_BASIC_AUTH' },
    { name: 'a user field that nobody knows', raw: withUser({ 'token-command': 'x' }), want: 'KUBECONFIG_FIELD_UNKNOWN' },
    { name: 'a cluster field that nobody knows', raw: withCluster({ 'unix-socket': '/x' }), want: 'KUBECONFIG_FIELD_UNKNOWN' },
  ])('$name is refused by its own code, also beside a good credential', ({ raw, want }) => {
    expect(codes(raw)).toEqual([want]);
  });
  it('exec alone is reported as exec, not as a missing credential', () => {
    expect(codes(kubeconfig({ user: { exec: { command: 'aws' } } }))).toEqual(['KUBECONFIG_EXEC']);
  });
  it('every problem is reported, with where it stands', () => {
    const raw = kubeconfig({ cluster: { server: 'http://10.0.0.1', 'proxy-url': 'http://p' }, user: { exec: { command: 'x' }, tokenFile: '/t' } });
    expect(kubeconfigProblems(raw, REMOTE).map(({ path, code }) => `${path} ${code}`)).toEqual([
      'clusters[0].cluster.proxy-url KUBECONFIG_PROXY_URL',
      'clusters[0].cluster.server KUBECONFIG_SERVER_NOT_HTTPS',
      'users[0].user.exec KUBECONFIG_EXEC',
      'users[0].user.tokenFile KUBECONFIG_TOKEN_FILE',
    ]);
  });
});

describe('contexts', () => {
  const two = [
    { name: 'east', context: { cluster: 'east', user: 'hub' } },
    { name: 'west', context: { cluster: 'west', user: 'hub' } },
  ];
  it.each([
    { name: 'no object', raw: 'text', want: 'KUBECONFIG_NOT_AN_OBJECT' },
    { name: 'a list', raw: [], want: 'KUBECONFIG_NOT_AN_OBJECT' },
    { name: 'no context', raw: kubeconfig({ top: { contexts: [], 'current-context': undefined } }), want: 'KUBECONFIG_NO_CONTEXT' },
    { name: 'several contexts without a choice', raw: kubeconfig({ top: { contexts: two, 'current-context': undefined } }), want: 'KUBECONFIG_CONTEXT_AMBIGUOUS' },
    { name: 'a current-context that is not there', raw: kubeconfig({ top: { 'current-context': 'gone' } }), want: 'KUBECONFIG_CONTEXT_UNKNOWN' },
    { name: 'a cluster that is not there', raw: kubeconfig({ top: { clusters: [] } }), want: 'KUBECONFIG_CLUSTER_UNKNOWN' },
    { name: 'a user that is not there', raw: kubeconfig({ top: { users: [] } }), want: 'KUBECONFIG_USER_UNKNOWN' },
    { name: 'a context without a cluster', raw: kubeconfig({ top: { contexts: [{ name: 'east', context: { user: 'hub' } }] } }), want: 'KUBECONFIG_CLUSTER_UNKNOWN' },
  ])('$name has its own code', ({ raw, want }) => {
    expect(codes(raw)).toEqual([want]);
  });
  it('an explicit choice wins over current-context, and only what it names is judged and kept', () => {
    const raw = kubeconfig({
      top: {
        contexts: [...two, { name: 'personal', context: { cluster: 'east', user: 'me' } }],
        clusters: [
          { name: 'east', cluster: { server: 'http://insecure' } },
          { name: 'west', cluster: { server: 'https://10.0.0.20:6443', 'certificate-authority-data': PEM } },
        ],
        users: [{ name: 'me', user: { exec: { command: 'aws' } } }, { name: 'hub', user: { token: 'abc' } }],
      },
    });
    const options = { ...REMOTE, contextName: 'west' };
    expect(codes(raw, options)).toEqual([]);
    const kept = chosenKubeconfig(raw, options);
    expect(JSON.stringify(kept)).not.toMatch(/aws|insecure/);
    expect(memberConnection(kept, REMOTE)).toMatchObject({ server: 'https://10.0.0.20:6443', credential: { kind: 'token', token: 'abc' } });
  });
});

describe('servers and credentials', () => {
  it.each([
    { server: '', want: 'KUBECONFIG_SERVER_MISSING' },
    { server: 'https://', want: 'KUBECONFIG_SERVER_INVALID' },
    { server: 'http://10.0.0.10', want: 'KUBECONFIG_SERVER_NOT_HTTPS' },
    { server: 'file:///etc/passwd', want: 'KUBECONFIG_SERVER_NOT_HTTPS' },
    { server: 'https://user:secret@10.0.0.10', want: 'KUBECONFIG_SERVER_INVALID' },
    { server: 'https://10.0.0.10/?x=1', want: 'KUBECONFIG_SERVER_INVALID' },
    { server: 'https://127.0.0.1:6443', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://0x7f.1:6443', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://localhost', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://[::1]:6443', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://[::ffff:127.0.0.1]:6443', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://0.0.0.0:6443', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://169.254.169.254', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://[fe80::1]', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://localhost.', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://api.localhost.:6443', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://2130706433', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://[64:ff9b::a9fe:a9fe]', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://100.100.100.200', want: 'KUBECONFIG_SERVER_LOCAL' },
    { server: 'https://168.63.129.16', want: 'KUBECONFIG_SERVER_LOCAL' },
  ])('server "$server" is $want', ({ server, want }) => {
    expect(codes(withCluster({ server }))).toEqual([want]);
  });
  it('a local server is accepted where the operator allows it', () => {
    expect(codes(withCluster({ server: 'https://127.0.0.1:6443' }), { allowLocalServers: true })).toEqual([]);
  });
  it.each([
    { name: 'no credential', user: {}, want: 'KUBECONFIG_NO_CREDENTIAL' },
    { name: 'a certificate without its key', user: { 'client-certificate-data': PEM }, want: 'KUBECONFIG_CREDENTIAL_INCOMPLETE' },
    { name: 'a key without its certificate', user: { 'client-key-data': KEY }, want: 'KUBECONFIG_CREDENTIAL_INCOMPLETE' },
    { name: 'two credentials', user: { token: 'a', 'client-certificate-data': PEM, 'client-key-data': KEY }, want: 'KUBECONFIG_CREDENTIAL_AMBIGUOUS' },
    { name: 'a certificate that is no PEM', user: { 'client-certificate-data': 'AAAA', 'client-key-data': KEY }, want: 'KUBECONFIG_CLIENT_CERT_INVALID' },
    { name: 'a key that is no base64', user: { 'client-certificate-data': PEM, 'client-key-data': '%%' }, want: 'KUBECONFIG_CLIENT_KEY_INVALID' },
    { name: 'a token that would break out of its header', user: { token: 'a\r\nX: y' }, want: 'KUBECONFIG_TOKEN_INVALID' },
  ])('$name is $want', ({ user, want }) => {
    expect(codes(kubeconfig({ user }))).toEqual([want]);
  });
  it.each(['a\r\nb', 5, 'a b', '-a', 'x'.repeat(254)])('a tls-server-name of %j is refused', (name) => {
    expect(codes(withCluster({ 'tls-server-name': name }))).toEqual(['KUBECONFIG_TLS_SERVER_NAME_INVALID']);
  });
  it('a CA that is no PEM is refused', () => {
    expect(codes(withCluster({ 'certificate-authority-data': 'AAAA' }))).toEqual(['KUBECONFIG_CA_INVALID']);
  });
});
