/**
 * `npm run bench:propagation`: from pod Ready in one cluster to the rule in another cluster's kernel, on three real members.
 *
 * A pod object is made Ready and not Ready in turn by its status; what is measured is from just before that write is sent until
 *  - hub:     PostgreSQL tells of the change-log entry (the report was accepted),
 *  - local:   `nft monitor` on a node of the same cluster shows the endpoint's element,
 *  - remote:  `nft monitor` on a node of another cluster shows it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import pg from 'pg';

import { corePath, type TestbedCluster, type TestbedNode } from '#testbed';

import { startFleet, THREE_CLUSTERS, type FleetUnderTest } from '../fleet/fleet-under-test.js';
import { SAMPLE } from '../fleet/sample-objects.js';
import { until } from '../fleet/until.js';
import { renderTable } from './render-table.js';

const { values } = parseArgs({ options: { samples: { type: 'string', default: '200' } } });
const SAMPLES = Number(values.samples);
const PROBE_ADDRESS = '10.1.250.7';

interface Sample {
  readonly hub: number;
  readonly local: number;
  readonly remote: number;
}

/** Tells when lines of a long-running command match. */
class LineWatch {
  readonly #child: ChildProcess;
  #seen: (line: string, atMs: number) => void = () => undefined;
  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (this.#child.stdout !== null) createInterface({ input: this.#child.stdout }).on('line', (line) => this.#seen(line, performance.now()));
  }
  /** Resolves with the time of the first line from now on that matches. */
  next(matches: (line: string) => boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#seen = (line, atMs) => {
        if (matches(line)) resolve(atMs);
      };
    });
  }
  stop(): void {
    this.#child.kill();
  }
}

const monitor = (node: TestbedNode): LineWatch => new LineWatch('nsenter', [`--net=/run/netns/${node.namespace}`, '--', 'nft', 'monitor']);

async function main(): Promise<void> {
  const fleet = await startFleet({ clusters: THREE_CLUSTERS, onProgress: (message) => process.stderr.write(`${message}\n`) });
  try {
    await prepare(fleet);
    const samples = await measure(fleet);
    print(samples);
  } finally {
    await fleet.stop();
  }
}

async function prepare(fleet: FleetUnderTest): Promise<void> {
  for (const cluster of fleet.clusters) await fleet.register(cluster, { region: cluster.name, zone: '' });
  await fleet.waitUntilJoined();
  await fleet.shareNamespace(SAMPLE.namespace);
  await fleet.configureDns();
  await fleet.deploySample({ 'east-1': 2, 'west-1': 4, 'north-1': 2 });
  await fleet.waitUntilAnsweredBy(fleet.testbed.cluster('west-1'), ['east-1', 'west-1', 'north-1']);
}

async function measure(fleet: FleetUnderTest): Promise<readonly Sample[]> {
  const east = fleet.testbed.cluster('east-1');
  const west = fleet.testbed.cluster('west-1');
  const [eastNode, westNode] = [east.nodes[0], west.nodes[0]];
  if (eastNode === undefined || westNode === undefined) throw new Error('each cluster needs a node');
  await createProbePod(east);
  const [local, remote] = [monitor(eastNode), monitor(westNode)];
  const log = new pg.Client({ connectionString: fleet.postgres.connectionString });
  await log.connect();
  await log.query(`LISTEN ${CHANNEL}`);
  const samples: Sample[] = [];
  let told: (atMs: number) => void = () => undefined;
  log.on('notification', () => told(performance.now()));
  try {
    for (let index = 0; index < SAMPLES * 2; index += 1) {
      const ready = index % 2 === 0;
      // The element of an endpoint that comes is added; of one that goes, others take its place.
      const matches = (line: string): boolean => line.includes('element') && (ready ? line.includes('add') && line.includes(PROBE_ADDRESS) : line.includes('delete') && line.includes(PROBE_ADDRESS));
      const hubAt = new Promise<number>((resolve) => {
        told = resolve;
      });
      const [localAt, remoteAt] = [local.next(matches), remote.next(matches)];
      const startMs = performance.now();
      await setReady(east, ready);
      const [hub, here, there] = await withDeadline(Promise.all([hubAt, localAt, remoteAt]), `sample ${index} did not arrive`);
      if (ready) samples.push({ hub: hub - startMs, local: here - startMs, remote: there - startMs });
      if (index % 100 === 99) process.stderr.write(`${(index + 1) / 2} samples\n`);
    }
  } finally {
    local.stop();
    remote.stop();
    await log.end();
  }
  return samples;
}

const CHANNEL = 'spillway_change_log';

async function withDeadline<T>(work: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), 30_000);
  });
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer));
}

async function createProbePod(cluster: TestbedCluster): Promise<void> {
  // Bound to a node that no kubelet serves: its status is ours to write.
  await cluster.api.create(corePath(SAMPLE.namespace, 'pods'), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: SAMPLE.namespace, name: 'probe', labels: { app: SAMPLE.name, probe: 'true' } },
    spec: { nodeName: 'nowhere', containers: [{ name: 'server', image: 'none', ports: [{ name: 'http', containerPort: SAMPLE.targetPort }] }] },
  });
  await until('the probe pod exists', async () => (await cluster.api.find(corePath(SAMPLE.namespace, 'pods', 'probe'))) !== undefined);
}

async function setReady(cluster: TestbedCluster, ready: boolean): Promise<void> {
  const status = ready ? 'True' : 'False';
  const condition = (type: string): object => ({ type, status, lastTransitionTime: new Date().toISOString() });
  await cluster.api.patch(`${corePath(SAMPLE.namespace, 'pods', 'probe')}/status`, {
    status: { phase: 'Running', podIP: PROBE_ADDRESS, podIPs: [{ ip: PROBE_ADDRESS }], conditions: [condition('Ready'), condition('ContainersReady')] },
  });
}

function print(samples: readonly Sample[]): void {
  const at = (pick: (sample: Sample) => number, quantile: number): string => {
    const sorted = samples.map(pick).sort((a, b) => a - b);
    return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? 0).toFixed(1)} ms`;
  };
  const row = (name: string, pick: (sample: Sample) => number): readonly string[] => [name, at(pick, 0.5), at(pick, 0.9), at(pick, 0.99), at(pick, 1)];
  process.stdout.write(
    `${renderTable(
      [`pod Ready → … (${samples.length} samples)`, 'p50', 'p90', 'p99', 'max'],
      [
        row('rule in a kernel of its own cluster', (sample) => sample.local),
        row('report accepted by the hub', (sample) => sample.hub),
        row('hub → rule in another cluster’s kernel', (sample) => sample.remote - sample.hub),
        row('rule in another cluster’s kernel', (sample) => sample.remote),
      ],
    )}\n`,
  );
}

await main();
