import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { clusterId } from '#domain/fleet';
import { createLogger } from '#platform';
import { aPolicy, FakeClock, FakeFleetStore, until } from '#testing';

import { FleetViewFollower } from './fleet-view-follower.js';

const logger = createLogger({ app: 'hub', level: 'silent' });

describe('FleetViewFollower', () => {
  let clock: FakeClock;
  let store: FakeFleetStore;
  let follower: FleetViewFollower;
  beforeEach(async () => {
    clock = new FakeClock();
    store = new FakeFleetStore(clock);
    follower = await FleetViewFollower.start({ changeLog: store.changeLog, clock, logger });
  });
  afterEach(() => follower.close());

  it('whoever catches up reads its own write', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await store.policies.save(aPolicy({ name: `p${index}` }), 'ada');
        await follower.catchUp();
        expect(follower.view.policies.map((policy) => policy.name)).toContain(`p${index}`);
      }),
    );
  });

  it('a change is seen without being asked for, and listeners hear of it', async () => {
    let heard = 0;
    const end = follower.onChange(() => {
      heard += 1;
    });
    await store.policies.save(aPolicy(), 'ada');
    await until('the listener heard', () => heard > 0);
    expect(follower.view.policies).toHaveLength(1);
    end();
  });

  it('while the store is away the view stays, says so, and then goes on', async () => {
    await store.membership.register({ id: clusterId('a'), labels: {}, region: '', zone: '', network: '', credential: undefined }, 'ada');
    await follower.catchUp();
    store.available = false;
    await until('the trouble is told', () => follower.trouble() !== undefined, clock, 1_000);
    expect(follower.view.members.size).toBe(1);
    store.available = true;
    await store.policies.save(aPolicy(), 'ada');
    await until('it follows again', () => follower.trouble() === undefined && follower.view.policies.length === 1, clock, 1_000);
  });

  it('a restored database is loaded anew under its new epoch', async () => {
    const backup = store.backup();
    await store.policies.save(aPolicy(), 'ada');
    await follower.catchUp();
    const before = follower.current();
    store.putBack(backup);
    await store.hubState.declareRestore('ada');
    await follower.catchUp();
    expect(follower.current().epoch).not.toBe(before.epoch);
    expect(follower.view.policies).toEqual([]);
  });
});
