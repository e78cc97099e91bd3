import { describe, expect, it } from '@jest/globals';

import { parseKubeconfig } from './index.js';

const OPTIONS = { allowLocalServers: false };
const GOOD = `
apiVersion: v1
kind: Config
contexts: [{name: east, context: {cluster: east, user: hub}}]
clusters: [{name: east, cluster: {server: "https://10.0.0.10:6443"}}]
users: [{name: hub, user: {token: s3cret}}]
`;

const pem = (label: string): string => Buffer.from(`-----BEGIN ${label}-----\nMIIB\n-----END ${label}-----\n`).toString('base64');

const codesOf = (text: string): string[] => {
  const parsed = parseKubeconfig(text, OPTIONS);
  return parsed.ok ? [] : parsed.problems.map((problem) => problem.code);
};

describe('parseKubeconfig', () => {
  it('reads a good file, and its kept text reads back to the same connection', () => {
    const parsed = parseKubeconfig(GOOD, OPTIONS);
    if (!parsed.ok) throw new Error('refused');
    expect(parsed.connection).toMatchObject({ server: 'https://10.0.0.10:6443', credential: { kind: 'token', token: 's3cret' } });
    expect(parseKubeconfig(parsed.text, OPTIONS)).toEqual(parsed);
  });
  it.each([
    { name: 'an empty file', text: ' \n', want: ['KUBECONFIG_EMPTY'] },
    { name: 'a file that is too large', text: `${GOOD}#${'x'.repeat(256 * 1024)}`, want: ['KUBECONFIG_TOO_LARGE'] },
    { name: 'a file that is no YAML', text: 'a: [', want: ['KUBECONFIG_NOT_YAML'] },
    { name: 'an alias bomb', text: `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'.split('').map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefg'[i] ?? ''}`).join(',')}]`).join('\n')}`, want: ['KUBECONFIG_NOT_YAML'] },
    { name: 'a plain sentence', text: 'hello', want: ['KUBECONFIG_NOT_AN_OBJECT'] },
    { name: 'the rules of the domain', text: GOOD.replace('token: s3cret', 'exec: {command: sh}'), want: ['KUBECONFIG_EXEC'] },
  ])('refuses $name', ({ text, want }) => {
    expect(codesOf(text)).toEqual(want);
  });
  it.each([
    { name: 'a byte order mark', text: `\uFEFF${GOOD}` },
    { name: 'the line ends of Windows', text: GOOD.replaceAll('\n', '\r\n') },
  ])('reads a file with $name', ({ text }) => {
    expect(codesOf(text)).toEqual([]);
  });
  it.each([
    { name: 'a user twice over as a key', text: `${GOOD}users: []\n`, want: ['KUBECONFIG_NOT_YAML'] },
    { name: 'two documents', text: `${GOOD}---\n${GOOD}`, want: ['KUBECONFIG_NOT_YAML'] },
    { name: 'an exec that is merged in', text: `x: &x {exec: {command: sh}}\n${GOOD.replace('token:', '<<: *x, token:')}`, want: ['KUBECONFIG_FIELD_UNKNOWN'] },
    { name: 'a token that is a number', text: GOOD.replace('s3cret', '12345'), want: ['KUBECONFIG_TOKEN_INVALID'] },
    { name: 'nesting without end', text: '['.repeat(50_000), want: ['KUBECONFIG_NOT_YAML'] },
    { name: 'PEM frames around nothing', text: GOOD.replace('token: s3cret', `client-certificate-data: ${pem('CERTIFICATE')}, client-key-data: ${pem('PRIVATE KEY')}`), want: ['KUBECONFIG_CLIENT_CERT_INVALID', 'KUBECONFIG_CLIENT_KEY_INVALID'] },
    { name: 'a CA that cannot be read', text: GOOD.replace('{server:', `{certificate-authority-data: ${pem('CERTIFICATE')}, server:`), want: ['KUBECONFIG_CA_INVALID'] },
  ])('refuses $name', ({ text, want }) => {
    expect(codesOf(text)).toEqual(want);
  });
  it('never repeats a value of the file in a message', () => {
    const parsed = parseKubeconfig(`${GOOD}\nusers: [{name: hub, user: {token: s3cret`, OPTIONS);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain('s3cret');
  });
});
