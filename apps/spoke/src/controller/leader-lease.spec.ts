import { describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { FakeClock, FakeKube, settle, until } from '#testing';

import { LeaderLease } from './leader-lease.js';

const lease = (kube: FakeKube, clock: FakeClock, holder: string): LeaderLease =>
  new LeaderLease({ kube, clock, onChange: () => undefined, onError: () => undefined }, { namespace: 'spillway-system', name: 'spillway-spoke-controller', holder, durationMs: 10_000, renewMs: 2_000 });

describe('leader lease', () => {
  it('of two replicas exactly one leads, and the other follows when it is gone', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const one = lease(kube, clock, 'one');
    const two = lease(kube, clock, 'two');
    one.start();
    await until('one leads', () => one.leadership() === 'leading', clock);
    two.start();
    await clock.advance(30_000);
    expect([one.leadership(), two.leadership()]).toEqual(['leading', 'standby']);
    await one.stop();
    await clock.advance(2_000);
    expect([one.leadership(), two.leadership()]).toEqual(['standby', 'leading']);
    await two.stop();
  });
  it('a holder that died is replaced after its lease, by the watcher\'s own clock', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.seed({ group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', namespaced: true }, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace: 'spillway-system', name: 'spillway-spoke-controller' }, spec: { holderIdentity: 'dead', leaseDurationSeconds: 10, renewTime: '2099-01-01T00:00:00.000000Z', leaseTransitions: 4 } });
    const two = lease(kube, clock, 'two');
    two.start();
    await settle();
    await clock.advance(9_000);
    expect(two.leadership()).toBe('standby');
    await clock.advance(3_000);
    expect(two.leadership()).toBe('leading');
    await two.stop();
  });
  it.each([
    { name: 'that lasts for ever', spec: { holderIdentity: 'dead', leaseDurationSeconds: 2_000_000_000, renewTime: '2020-01-01T00:00:00.000000Z' } },
    { name: 'of nonsense', spec: { holderIdentity: 7, leaseDurationSeconds: 'x', renewTime: null } },
  ])('a Lease $name keeps the cluster without a leader for a minute at most', async ({ spec }) => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    kube.seed(KUBE_KINDS.lease, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace: 'spillway-system', name: 'spillway-spoke-controller' }, spec });
    const one = lease(kube, clock, 'one');
    one.start();
    await settle();
    await clock.advance(64_000);
    expect(one.leadership()).toBe('leading');
    await one.stop();
  });
  it('a Lease that somebody deletes is made again', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const one = lease(kube, clock, 'one');
    one.start();
    await until('one leads', () => one.leadership() === 'leading', clock);
    await kube.remove(KUBE_KINDS.lease, { namespace: 'spillway-system', name: 'spillway-spoke-controller' });
    await clock.advance(4_000);
    expect(await kube.list(KUBE_KINDS.lease)).toHaveLength(1);
    expect(one.leadership()).toBe('leading');
    await one.stop();
  });
  it('a container that restarts in its pod leads at once', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const first = lease(kube, clock, 'pod-a');
    first.start();
    await until('first leads', () => first.leadership() === 'leading', clock);
    const again = lease(kube, clock, 'pod-a');
    again.start();
    await until('again leads', () => again.leadership() === 'leading');
    await Promise.all([first.stop(), again.stop()]);
  });
  it('a holder that cannot reach the API server is unconfirmed, and leads again when it can', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const one = lease(kube, clock, 'one');
    one.start();
    await until('one leads', () => one.leadership() === 'leading', clock);
    kube.goAway();
    await clock.advance(11_000);
    expect(one.leadership()).toBe('unconfirmed');
    kube.comeBack();
    await clock.advance(2_000);
    expect(one.leadership()).toBe('leading');
    await one.stop();
  });
});
