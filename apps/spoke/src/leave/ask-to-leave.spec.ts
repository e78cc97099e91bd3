import { describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { LEAVE_ANNOTATION, LEFT_ANNOTATION } from '#contracts/spoke-api';
import { FakeClock, FakeKube, until } from '#testing';

import { askToLeave } from './ask-to-leave.js';

const SYSTEM = 'spillway-system';

function bench() {
  const clock = new FakeClock();
  const kube = new FakeKube({ clock });
  kube.seed(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } });
  kube.self = { username: `system:serviceaccount:${SYSTEM}:spillway-spoke-controller`, uid: 'u-1' };
  const annotations = async () => (await kube.find(KUBE_KINDS.namespace, { name: SYSTEM }))?.metadata.annotations ?? {};
  return { clock, kube, annotations };
}

describe('asking an installation to leave', () => {
  it('is answered once the controller says that it has left', async () => {
    const { clock, kube, annotations } = bench();
    let isDone = false;
    const asked = askToLeave(kube, clock, { namespace: SYSTEM, waitMs: 60_000 }).then(() => (isDone = true));
    await until('asked', async () => (await annotations())[LEAVE_ANNOTATION] === 'installation/u-1', clock);
    await clock.advance(5_000);
    expect(isDone).toBe(false);
    await kube.apply(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM, annotations: { [LEFT_ANNOTATION]: 'installation/u-1' } } }, 'controller');
    await clock.advance(1_000);
    await asked;
  });
  it('an answer to an earlier installation is none', async () => {
    const { clock, kube, annotations } = bench();
    await kube.apply(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM, annotations: { [LEFT_ANNOTATION]: 'installation/u-0' } } }, 'controller');
    let outcome: unknown;
    void askToLeave(kube, clock, { namespace: SYSTEM, waitMs: 60_000 }).catch((error: unknown) => (outcome = error));
    await until('timed out', () => outcome !== undefined, clock, 1_000);
    expect(outcome).toMatchObject({ code: 'LEAVE_TIMED_OUT' });
    expect((await annotations())[LEAVE_ANNOTATION]).toBe('installation/u-1');
  });
  it('without a ServiceAccount nothing is asked', async () => {
    const { clock, kube, annotations } = bench();
    kube.self = { username: 'admin' };
    await expect(askToLeave(kube, clock, { namespace: SYSTEM, waitMs: 60_000 })).rejects.toMatchObject({ code: 'LEAVE_NO_ACCOUNT' });
    expect(await annotations()).toEqual({});
  });
});
