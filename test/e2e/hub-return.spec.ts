import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { SAMPLE } from '../fleet/sample-objects.js';
import { Faults, type FaultOutcome } from '../fleet/faults.js';
import { startFleet, TWO_CLUSTERS, type FleetUnderTest } from '../fleet/fleet-under-test.js';
import { describeOnTestbed } from './needs.js';

const REPLICAS = { 'east-1': 2, 'west-1': 2 };

/** The hub goes and comes back in every way that docs/operations.md names; one fleet serves all, each leaves it whole. */
describeOnTestbed('a fleet whose hub goes and comes back', () => {
  let fleet: FleetUnderTest;
  let faults: Faults;

  beforeAll(async () => {
    fleet = await startFleet({ clusters: TWO_CLUSTERS });
    for (const cluster of fleet.clusters) await fleet.register(cluster, { region: cluster.name, zone: '' });
    await fleet.waitUntilJoined();
    await fleet.shareNamespace(SAMPLE.namespace);
    await fleet.configureDns();
    await fleet.deploySample(REPLICAS);
    for (const cluster of fleet.clusters) await fleet.waitUntilAnsweredBy(cluster, Object.keys(REPLICAS));
    faults = new Faults(fleet, REPLICAS);
  }, 600_000);
  afterAll(() => fleet?.stop(), 60_000);

  const expectNothingLost = ({ traffic }: FaultOutcome): void => {
    expect(traffic.errors).toEqual({});
    expect(traffic.sent).toBeGreaterThan(0);
    expect(Object.keys(traffic.byCluster).sort()).toEqual(Object.keys(REPLICAS).sort());
  };

  it('flaps nothing when the hub is killed and starts again', async () => {
    expectNothingLost(await faults.hubRestarts());
  }, 180_000);

  it('serves other clusters’ endpoints from the last good state where a controller starts while the hub is away', async () => {
    expectNothingLost(await faults.controllerStartsWithoutHub(fleet.testbed.cluster('east-1')));
  }, 180_000);

  it('keeps what spokes know when a backup is put back, and learns it from them once the restore is declared', async () => {
    expectNothingLost(await faults.databaseIsPutBack());
  }, 240_000);

  it('keeps what spokes know when the database is lost, and is whole again when the clusters are registered anew', async () => {
    expectNothingLost(await faults.databaseIsLost());
  }, 240_000);
});
