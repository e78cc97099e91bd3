import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { FakeClock, FakeHubLink, FakeKube, FakeRandom } from '#testing';

import type { HubPhase } from './hub-status.js';
import { IdentityWriter, newPrivateKeyPem, parseIdentity, type StoredIdentity } from './identity-keeper.js';
import { KeyRotator } from './key-rotator.js';

const REF = { namespace: 'spillway-system', name: 'spillway-identity' };
const DAY_MS = 24 * 3_600_000;

/** An enrolled spoke over one API server and one hub; `restart` is another process over the same two. */
async function spoke() {
  const clock = new FakeClock();
  const kube = new FakeKube({ clock });
  const link = new FakeHubLink(clock);
  link.addToken('t1', 'east-1');
  const privateKeyPem = newPrivateKeyPem();
  const bound = await link.enrol({ joinToken: 't1', privateKeyPem, clusterUid: 'uid' });
  const state = { phase: 'linked' as HubPhase, mayWrite: true };
  const identities = new IdentityWriter(kube, REF, () => undefined);
  await identities.update(() => ({ privateKeyPem, bound, enrolledTokenSha256: 'used', keySinceMs: clock.nowMs(), nextPrivateKeyPem: undefined, previous: undefined }));
  const stored = async (): Promise<StoredIdentity> => {
    const secret = await kube.find(KUBE_KINDS.secret, REF);
    const identity = secret === undefined ? undefined : parseIdentity(secret);
    if (identity === undefined) throw new Error('the Secret holds no key');
    return identity;
  };
  const restart = (): { turn: () => Promise<void> } => {
    const rotator = new KeyRotator({ link, clock, random: new FakeRandom(1), logger: pino({ level: 'silent' }), identities: new IdentityWriter(kube, REF, () => undefined), phase: () => state.phase, mayWrite: () => state.mayWrite, keyAgeMaxMs: 30 * DAY_MS });
    return { turn: async () => rotator.turn(await stored()) };
  };
  /** Whether the hub takes a call that the stored key signs. */
  const isKnown = async (): Promise<boolean> => {
    const identity = (await stored()).bound;
    if (identity === undefined) return false;
    return link.sync(identity, undefined, 0, new AbortController().signal).then(() => true, () => false);
  };
  return { clock, kube, link, state, identities, stored, restart, isKnown, first: bound };
}

describe('key rotation', () => {
  it('a key that is as old as it may be gives way to a new one; the hub takes both for the overlap, and then the new one', async () => {
    const { clock, link, stored, restart, isKnown, first } = await spoke();
    const { turn } = restart();
    await clock.advance(30 * DAY_MS - 1);
    await turn();
    expect(link.rotateCalls).toBe(0);
    await clock.advance(1);
    await turn();
    expect(await stored()).toMatchObject({ keySinceMs: clock.nowMs(), enrolledTokenSha256: 'used', nextPrivateKeyPem: undefined, previous: { keyId: first.keyId, privateKeyPem: first.privateKeyPem } });
    expect((await stored()).bound).toMatchObject({ clusterId: first.clusterId, hubUrl: first.hubUrl, caBundlePem: first.caBundlePem });
    expect((await stored()).privateKeyPem).not.toBe(first.privateKeyPem);
    expect(await link.rotateKey(first, (await stored()).privateKeyPem)).toMatchObject({ clusterId: 'east-1' });
    await clock.advance(DAY_MS);
    expect(await isKnown()).toBe(true);
    await expect(link.sync(first, undefined, 0, new AbortController().signal)).rejects.toMatchObject({ code: 'HUB_UNKNOWN_MEMBER' });
  });

  it('the new key is in the Secret before the hub hears of it, and is the one that is tried again', async () => {
    const { clock, link, stored, restart, first } = await spoke();
    await clock.advance(31 * DAY_MS);
    link.goAway();
    const { turn } = restart();
    await turn();
    const begun = await stored();
    expect(begun).toMatchObject({ privateKeyPem: first.privateKeyPem, nextPrivateKeyPem: expect.stringContaining('PRIVATE KEY') });
    link.comeBack();
    await clock.advance(DAY_MS);
    await turn();
    expect((await stored()).privateKeyPem).toBe(begun.nextPrivateKeyPem);
  });

  it.each([
    { name: 'before the hub heard', crash: 'away' as const, waitMs: 0 },
    { name: 'after the hub took it, within the overlap', crash: 'lost' as const, waitMs: 60_000 },
    { name: 'after the hub took it, and the old key has ended since', crash: 'lost' as const, waitMs: DAY_MS },
  ])('a process that ended $name leaves a key that the next one finishes with', async ({ crash, waitMs }) => {
    const { clock, link, state, stored, restart, isKnown } = await spoke();
    await clock.advance(31 * DAY_MS);
    if (crash === 'away') link.goAway();
    else link.losesRotations = true;
    await restart().turn();
    const { nextPrivateKeyPem } = await stored();
    link.comeBack();
    link.losesRotations = false;
    await clock.advance(waitMs);
    state.phase = (await isKnown()) ? 'linked' : 'unknown-member';
    await restart().turn();
    expect(await stored()).toMatchObject({ privateKeyPem: nextPrivateKeyPem, nextPrivateKeyPem: undefined });
    await clock.advance(DAY_MS);
    expect(await isKnown()).toBe(true);
  });

  it('a save that fails after the hub took the key is made up for', async () => {
    const { clock, kube, link, stored, restart, isKnown } = await spoke();
    await clock.advance(31 * DAY_MS);
    link.goAway();
    await restart().turn();
    link.comeBack();
    kube.forbid('patch', '', 'secrets');
    await restart().turn();
    expect((await stored()).nextPrivateKeyPem).toBeDefined();
    kube.permit('patch', '', 'secrets');
    await restart().turn();
    await clock.advance(DAY_MS);
    expect(await isKnown()).toBe(true);
  });

  it('a hub that is back on a backup from before the rotation takes the new key on the word of the old one', async () => {
    const { clock, link, state, restart, isKnown, stored } = await spoke();
    const restore = link.backUp();
    await clock.advance(31 * DAY_MS);
    const { turn } = restart();
    await turn();
    const rotated = await stored();
    restore('epoch-2');
    expect(await isKnown()).toBe(false);
    state.phase = 'unknown-member';
    await turn();
    expect(await isKnown()).toBe(true);
    expect(await stored()).toEqual(rotated);
  });

  it('a hub that knows none of the keys is asked ever more rarely, and nothing of the Secret changes', async () => {
    const { clock, link, state, restart, stored } = await spoke();
    const { turn } = restart();
    await clock.advance(31 * DAY_MS);
    await turn();
    const before = await stored();
    link.startEmpty('epoch-2');
    state.phase = 'unknown-member';
    const callsBefore = link.rotateCalls;
    for (let minute = 0; minute < 120; minute += 1) {
      await turn();
      await clock.advance(60_000);
    }
    expect(link.rotateCalls - callsBefore).toBeGreaterThan(5);
    expect(link.rotateCalls - callsBefore).toBeLessThan(40);
    expect(await stored()).toEqual(before);
  });

  it('a key of unknown age counts from now on', async () => {
    const { clock, link, identities, stored, restart } = await spoke();
    await identities.update((now) => now && { ...now, keySinceMs: undefined });
    await clock.advance(365 * DAY_MS);
    await restart().turn();
    expect((await stored()).keySinceMs).toBe(clock.nowMs());
    expect(link.rotateCalls).toBe(0);
  });

  it.each(['away', 'refused', 'enrolling'] as const)('nothing is begun while the link is %s', async (phase) => {
    const { clock, state, stored, restart } = await spoke();
    await clock.advance(31 * DAY_MS);
    state.phase = phase;
    await restart().turn();
    expect((await stored()).nextPrivateKeyPem).toBeUndefined();
  });

  it('a standby rotates nothing', async () => {
    const { clock, state, link, restart } = await spoke();
    await clock.advance(31 * DAY_MS);
    state.mayWrite = false;
    await restart().turn();
    expect(link.rotateCalls).toBe(0);
  });
});
