import { describe, expect, it } from '@jest/globals';

import { backendName, clusterId, memberBackendDigest, reportDigest, type MemberBackend } from '#domain/fleet';
import { createLogger } from '#platform';
import { FakeClock, FakeFleetStore, FakeJobQueue } from '#testing';

import { JudgeLoop } from './judge-loop.js';

const MODEL = backendName('ai', 'model');
const part: MemberBackend = {
  name: MODEL,
  trafficClass: 'endpoints',
  sessionAffinity: 'None',
  ports: [{ port: 80, protocol: 'TCP' }],
  endpoints: [{ address: '10.1.0.1', targetPorts: [8080], ready: true, serving: true, terminating: false, zone: 'a', node: 'n1' }],
  capacity: { unit: 'Requests', perEndpoint: 10 },
};
const DIGEST = reportDigest(new Map([[MODEL, memberBackendDigest(part)]]));

/** A fleet whose spokes report every second unless silenced, and one or more judges. */
class Fleet {
  readonly clock = new FakeClock();
  readonly store = new FakeFleetStore(this.clock);
  readonly queue = new FakeJobQueue({ clock: this.clock });
  readonly talking = new Set<string>();
  isHubListening = true;
  judge(holder = 'worker-a'): JudgeLoop {
    return new JudgeLoop({ store: this.store, queue: this.queue, clock: this.clock, holder, logger: createLogger({ app: 'test', level: 'silent' }), staleAfterMs: 300_000, isHubListening: async () => this.isHubListening });
  }
  async register(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.store.membership.register({ id: clusterId(name), labels: {}, region: '', zone: '', network: 'n', credential: undefined }, 'ann');
      this.talking.add(name);
    }
  }
  async run(seconds: number, ...judges: JudgeLoop[]): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await this.clock.advance(1_000);
      for (const name of this.talking) {
        await this.store.reports.accept({ clusterId: clusterId(name), full: true, changed: [part], removed: [], digest: DIGEST, applied: undefined, spokeVersion: '0.1.0', clockSkewMs: 0 });
      }
      for (const judge of judges) await judge.tick();
    }
  }
  async freshness(): Promise<string[]> {
    return (await this.store.membership.list()).map((record) => `${record.cluster.id} ${record.freshness}`);
  }
  async freeze(): Promise<string | undefined> {
    return (await this.store.changeLog.loadView()).view.freeze?.reason;
  }
}

describe('the judge', () => {
  it('judges a silent member stale after five minutes, in the log, and fresh members never', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a', 'b');
    await fleet.run(10, judge);
    fleet.talking.delete('a');
    await fleet.run(299, judge);
    expect(await fleet.freshness()).toEqual(['a fresh', 'b fresh']);
    await fleet.run(2, judge);
    expect(await fleet.freshness()).toEqual(['a stale', 'b fresh']);
    expect((await fleet.store.changeLog.loadView()).view.members.get(clusterId('a'))?.freshness).toBe('stale');
  });
  it('after a declared restore waits five minutes for a member that is gone, and lets nobody wait longer', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a', 'b');
    await fleet.run(10, judge);
    await fleet.store.hubState.declareRestore('ann');
    fleet.talking.delete('b');
    await fleet.run(299, judge);
    expect(await fleet.freshness()).toEqual(['a fresh', 'b joining']);
    await fleet.run(2, judge);
    expect(await fleet.freshness()).toEqual(['a fresh', 'b stale']);
    fleet.talking.add('b');
    await fleet.run(1, judge);
    expect(await fleet.freshness()).toEqual(['a fresh', 'b fresh']);
  });
  it('does not count time in which no hub listened', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a', 'b');
    await fleet.run(10, judge);
    fleet.talking.clear();
    fleet.isHubListening = false;
    await fleet.run(600, judge);
    expect(await fleet.freshness()).toEqual(['a fresh', 'b fresh']);
  });
  it('freezes automation with the capacities of that moment when a herd goes silent, and resumes when it is back', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a', 'b', 'c', 'd');
    await fleet.run(60, judge);
    for (const name of ['a', 'b', 'c']) fleet.talking.delete(name);
    await fleet.run(12, judge);
    const { freeze } = (await fleet.store.changeLog.loadView()).view;
    expect(freeze?.reason).toMatch(/^automatic: 3 of 4 members/);
    expect(freeze?.capacities.get(MODEL)?.get(clusterId('a'))).toBe(10);
    for (const name of ['a', 'b', 'c']) fleet.talking.add(name);
    await fleet.run(35, judge);
    expect(await fleet.freeze()).toBeUndefined();
  });
  it('leaves a freeze by a person alone', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a', 'b');
    await fleet.run(10, judge);
    await fleet.store.policies.freeze({ reason: 'maintenance', capacities: new Map() }, 'ann');
    await fleet.run(60, judge);
    expect(await fleet.freeze()).toBe('maintenance');
  });
  it('is one at a time, and another takes over when it stops', async () => {
    const fleet = new Fleet();
    const [first, second] = [fleet.judge('worker-a'), fleet.judge('worker-b')];
    await fleet.register('a', 'b');
    await fleet.run(5, first, second);
    expect([first.isLeading, second.isLeading]).toEqual([true, false]);
    await first.stop();
    await fleet.run(2, second);
    expect(second.isLeading).toBe(true);
  });
  it('has the queue look after a new cluster and after one that is to leave, once each', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a');
    await fleet.run(3, judge);
    expect(fleet.queue.waiting().map(([key]) => key)).toEqual(['a']);
    const runs: string[] = [];
    await fleet.queue.process({
      reconcile: async (key) => {
        runs.push(key);
        return { nextRunInMs: 3_600_000 };
      },
      resyncKeys: async () => [],
      resyncEveryMs: 3_600_000,
      concurrency: 4,
    });
    await fleet.register('b');
    await fleet.run(3, judge);
    await fleet.store.membership.requestRemoval(clusterId('a'), { force: false, by: 'ann' });
    await fleet.run(3, judge);
    await fleet.store.membership.requestRemoval(clusterId('a'), { force: true, by: 'ann' });
    await fleet.run(3, judge);
    expect(runs).toEqual(['a', 'b', 'a', 'a']);
    await fleet.queue.close();
  });
  it('goes on judging while the queue is away, and asks it later', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    await fleet.register('a');
    fleet.queue.available = false;
    await fleet.clock.advance(1_000);
    await expect(judge.tick()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    fleet.queue.available = true;
    await judge.tick();
    expect(fleet.queue.waiting().map(([key]) => key)).toEqual(['a']);
  });
  it('says why it cannot work while the store is away, and works again after', async () => {
    const fleet = new Fleet();
    const judge = fleet.judge();
    fleet.store.available = false;
    judge.start();
    await fleet.clock.advance(3_000);
    expect(judge.unavailableReason()).toContain('database');
    fleet.store.available = true;
    await fleet.clock.advance(2_000);
    expect([judge.unavailableReason(), judge.isLeading]).toEqual([undefined, true]);
    await judge.stop();
  });
});
