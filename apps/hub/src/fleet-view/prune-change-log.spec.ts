import { describe, expect, it } from '@jest/globals';

import { clusterId } from '#domain/fleet';
import { createLogger } from '#platform';
import { FakeClock, FakeFleetStore } from '#testing';

import { LOG_ENTRIES_KEPT, LOG_PRUNE_INTERVAL_MS, pruneChangeLog } from './prune-change-log.js';

describe('pruneChangeLog', () => {
  it('keeps the newest entries, also after the database was away, and ends when stopped', async () => {
    const clock = new FakeClock();
    const store = new FakeFleetStore(clock);
    await store.membership.register({ id: clusterId('east-1'), labels: {}, region: '', zone: '', network: 'flat', credential: undefined }, 'test');
    for (let change = 0; change < LOG_ENTRIES_KEPT + 5; change += 1) await store.policies.save({ name: 'p', namespaces: ['ai'], mayExport: { all: true, names: [], matchLabels: {} }, mayImport: { all: true, names: [], matchLabels: {} }, owner: String(change) }, 'test');
    const pruning = pruneChangeLog({ changeLog: store.changeLog, clock, logger: createLogger({ app: 'test', level: 'silent' }) });
    store.available = false;
    await clock.advance(LOG_PRUNE_INTERVAL_MS);
    store.available = true;
    expect((await store.changeLog.loadView()).history.length).toBeGreaterThan(LOG_ENTRIES_KEPT);
    await clock.advance(LOG_PRUNE_INTERVAL_MS);
    expect((await store.changeLog.loadView()).history).toHaveLength(LOG_ENTRIES_KEPT);
    await pruning.stop();
  });
});
