/**
 * `npm run bench:footprint`: resident memory and idle CPU of every process of ours in a fleet that serves and has nothing to do.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { startFleet, TWO_CLUSTERS, type FleetUnderTest } from '../fleet/fleet-under-test.js';
import { SAMPLE } from '../fleet/sample-objects.js';
import { renderTable } from './render-table.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const REPLICAS = { 'east-1': 2, 'west-1': 2 };
/** Clock ticks per second of /proc/PID/stat on Linux. */
const TICKS_PER_SECOND = 100;

function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

async function processes(fleet: FleetUnderTest): Promise<ReadonlyMap<string, number>> {
  const [cluster] = fleet.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  const spokes = await Promise.all(
    ['controller', 'node', 'dns'].map(async (component): Promise<[string, number]> => {
      const [pod] = await cluster.pods('spillway-system', `app.kubernetes.io/component=${component}`);
      return [`spoke ${component}`, await cluster.containerPid({ namespace: 'spillway-system', name: pod?.metadata.name ?? '' })];
    }),
  );
  return new Map([['hub', fleet.hub.pid ?? 0], ['worker', fleet.worker.pid ?? 0], ...spokes]);
}

const fleet = await startFleet({ clusters: TWO_CLUSTERS, onProgress: (message) => process.stderr.write(`${message}\n`) });
try {
  for (const cluster of fleet.clusters) await fleet.register(cluster, { region: cluster.name, zone: '' });
  await fleet.waitUntilJoined();
  await fleet.shareNamespace(SAMPLE.namespace);
  await fleet.configureDns();
  await fleet.deploySample(REPLICAS);
  for (const cluster of fleet.clusters) await fleet.waitUntilAnsweredBy(cluster, Object.keys(REPLICAS));
  const pids = await processes(fleet);
  const before = new Map([...pids].map(([name, pid]) => [name, cpuMs(pid)]));
  await new Promise((resolve) => setTimeout(resolve, Number(values.seconds) * 1000));
  const rows = [...pids].map(([name, pid]) => [name, `${residentMib(pid).toFixed(0)} MiB`, `${((cpuMs(pid) - (before.get(name) ?? 0)) / Number(values.seconds)).toFixed(1)} ms/s`]);
  process.stdout.write(`${renderTable(['process', 'RSS', 'idle CPU'], rows)}\n`);
} finally {
  await fleet.stop();
}
