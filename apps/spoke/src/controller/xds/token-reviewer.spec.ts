import { describe, expect, it } from '@jest/globals';

import { FakeClock, FakeKube } from '#testing';

import { TokenReviewer } from './token-reviewer.js';

const options = { namespace: 'spillway-system', audience: 'spillway-xds', serviceAccounts: ['spillway-spoke-node', 'spillway-spoke-dns'], trustMs: 60_000, refuseMs: 5_000, cacheEntriesMax: 2, asksMax: 2, refusalsPerSourceMax: 3, refusalWindowMs: 60_000 };
const owner = (username: string, audiences = ['spillway-xds']) => ({ username, audiences, extra: { 'authentication.kubernetes.io/node-name': ['node-1'] } });

describe('token reviewer', () => {
  it('says which ServiceAccount calls, and from which node', async () => {
    const kube = new FakeKube();
    kube.tokens.set('good', owner('system:serviceaccount:spillway-system:spillway-spoke-node'));
    expect(await new TokenReviewer(kube, new FakeClock(), options).review('good', '10.0.0.1')).toEqual({ serviceAccount: 'spillway-spoke-node', nodeName: 'node-1', podName: undefined });
  });
  it.each([
    { name: 'an unknown token', token: 'nobody' },
    { name: 'another ServiceAccount', token: 'other' },
    { name: 'the same name in another namespace', token: 'elsewhere' },
    { name: 'a token of another audience', token: 'audience' },
  ])('$name is refused', async ({ token }) => {
    const kube = new FakeKube();
    kube.tokens.set('other', owner('system:serviceaccount:spillway-system:default'));
    kube.tokens.set('elsewhere', owner('system:serviceaccount:default:spillway-spoke-node'));
    kube.tokens.set('audience', owner('system:serviceaccount:spillway-system:spillway-spoke-node', ['https://kubernetes']));
    await expect(new TokenReviewer(kube, new FakeClock(), options).review(token, '10.0.0.1')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED', kind: 'user' });
  });
  it('an answer is believed for a while: a client that connects again does not need the API server', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.tokens.set('good', owner('system:serviceaccount:spillway-system:spillway-spoke-dns'));
    const reviewer = new TokenReviewer(kube, clock, options);
    await reviewer.review('good', '10.0.0.1');
    kube.goAway();
    await clock.advance(59_000);
    expect((await reviewer.review('good', '10.0.0.1')).serviceAccount).toBe('spillway-spoke-dns');
    await clock.advance(2_000);
    await expect(reviewer.review('good', '10.0.0.1')).rejects.toMatchObject({ kind: 'transient' });
  });
  it('a refusal is not held against a token for long', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const reviewer = new TokenReviewer(kube, clock, options);
    await expect(reviewer.review('late', '10.0.0.1')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED' });
    kube.tokens.set('late', owner('system:serviceaccount:spillway-system:spillway-spoke-node'));
    await clock.advance(5_000);
    expect((await reviewer.review('late', '10.0.0.1')).serviceAccount).toBe('spillway-spoke-node');
  });
  it('no source makes the API server judge token after token, and the others are served', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.tokens.set('good', owner('system:serviceaccount:spillway-system:spillway-spoke-node'));
    const reviewer = new TokenReviewer(kube, clock, options);
    for (const token of ['a', 'b', 'c']) await expect(reviewer.review(token, '10.0.0.66')).rejects.toMatchObject({ message: expect.stringContaining('does not know this token') });
    await expect(reviewer.review('good', '10.0.0.66')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED', message: expect.stringContaining('Too many tokens') });
    expect((await reviewer.review('good', '10.0.0.1')).nodeName).toBe('node-1');
    await clock.advance(60_000);
    expect((await reviewer.review('good', '10.0.0.66')).nodeName).toBe('node-1');
  });
  it('a rush of tokens waits its turn outside: only so many are judged at once', async () => {
    const kube = new FakeKube();
    kube.tokens.set('good', owner('system:serviceaccount:spillway-system:spillway-spoke-node'));
    const reviewer = new TokenReviewer(kube, new FakeClock(), options);
    const rush = await Promise.allSettled(['a', 'b', 'good'].map(async (token, index) => reviewer.review(token, `10.0.1.${index}`)));
    expect(rush.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'served'))).toEqual(['XDS_UNAUTHENTICATED', 'XDS_UNAUTHENTICATED', 'XDS_REVIEWS_BUSY']);
    expect((await reviewer.review('good', '10.0.1.2')).nodeName).toBe('node-1');
  });
});
