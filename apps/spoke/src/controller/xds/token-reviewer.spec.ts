import { describe, expect, it } from '@jest/globals';

import { FakeClock, FakeKube } from '#testing';

import { TokenReviewer } from './token-reviewer.js';

const options = { namespace: 'spillway-system', audience: 'spillway-xds', serviceAccounts: ['spillway-spoke-node', 'spillway-spoke-dns'], trustMs: 60_000, refuseMs: 5_000, cacheEntriesMax: 2 };
const owner = (username: string, audiences = ['spillway-xds']) => ({ username, audiences, extra: { 'authentication.kubernetes.io/node-name': ['node-1'] } });

describe('token reviewer', () => {
  it('says which ServiceAccount calls, and from which node', async () => {
    const kube = new FakeKube();
    kube.tokens.set('good', owner('system:serviceaccount:spillway-system:spillway-spoke-node'));
    expect(await new TokenReviewer(kube, new FakeClock(), options).review('good')).toEqual({ serviceAccount: 'spillway-spoke-node', nodeName: 'node-1', podName: undefined });
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
    await expect(new TokenReviewer(kube, new FakeClock(), options).review(token)).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED', kind: 'user' });
  });
  it('an answer is believed for a while: a client that connects again does not need the API server', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.tokens.set('good', owner('system:serviceaccount:spillway-system:spillway-spoke-dns'));
    const reviewer = new TokenReviewer(kube, clock, options);
    await reviewer.review('good');
    kube.goAway();
    await clock.advance(59_000);
    expect((await reviewer.review('good')).serviceAccount).toBe('spillway-spoke-dns');
    await clock.advance(2_000);
    await expect(reviewer.review('good')).rejects.toMatchObject({ kind: 'transient' });
  });
  it('a refusal is not held against a token for long', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const reviewer = new TokenReviewer(kube, clock, options);
    await expect(reviewer.review('late')).rejects.toMatchObject({ code: 'XDS_UNAUTHENTICATED' });
    kube.tokens.set('late', owner('system:serviceaccount:spillway-system:spillway-spoke-node'));
    await clock.advance(5_000);
    expect((await reviewer.review('late')).serviceAccount).toBe('spillway-spoke-node');
  });
});
