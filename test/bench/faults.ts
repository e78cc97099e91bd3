/**
 * `npm run bench:faults`: every fault on one fleet under constant traffic from every cluster; prints what was lost.
 */
import { parseArgs } from 'node:util';

import { Faults, type FaultOutcome } from '../fleet/faults.js';
import { startFleet, TWO_CLUSTERS } from '../fleet/fleet-under-test.js';
import { SAMPLE } from '../fleet/sample-objects.js';
import { renderTable } from './render-table.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '120' } } });
const REPLICAS = { 'east-1': 2, 'west-1': 2 };

const fleet = await startFleet({ clusters: TWO_CLUSTERS, onProgress: (message) => process.stderr.write(`${message}\n`) });
try {
  for (const cluster of fleet.clusters) await fleet.register(cluster, { region: cluster.name, zone: '' });
  await fleet.waitUntilJoined();
  await fleet.shareNamespace(SAMPLE.namespace);
  await fleet.configureDns();
  await fleet.deploySample(REPLICAS);
  for (const cluster of fleet.clusters) await fleet.waitUntilAnsweredBy(cluster, Object.keys(REPLICAS));
  const faults = new Faults(fleet, REPLICAS);
  const rows: string[][] = [];
  const record = async (name: string, fault: () => Promise<FaultOutcome>): Promise<void> => {
    process.stderr.write(`${name}\n`);
    const { traffic, checked } = await fault();
    rows.push([name, String(traffic.sent), String(traffic.failed), `${traffic.latencyMsMax} ms`, checked.join('; ')]);
  };
  await record(`hub and worker killed, away ${values.seconds} s`, () => faults.hubIsAway(Number(values.seconds)));
  await record('hub killed and started', () => faults.hubRestarts());
  await record('spoke controllers killed', () => faults.spokeIsKilled('controller'));
  await record('node agents killed', () => faults.spokeIsKilled('node'));
  await record('controller starts while the hub is away', () => faults.controllerStartsWithoutHub(fleet.testbed.cluster('east-1')));
  await record('backup put back, then declared', () => faults.databaseIsPutBack());
  await record('database lost, clusters registered again', () => faults.databaseIsLost());
  process.stdout.write(`${renderTable(['fault', 'requests', 'failed', 'slowest', 'what held'], rows)}\n`);
} finally {
  await fleet.stop();
}
