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
  it('never repeats a value of the file in a message', () => {
    const parsed = parseKubeconfig(`${GOOD}\nusers: [{name: hub, user: {token: s3cret`, OPTIONS);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain('s3cret');
  });
});
