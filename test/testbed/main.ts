import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { fetchTestbedPrograms } from './binaries/index.js';
import { endRun, livingPids, namespacesOf } from './machine-room/end-run.js';
import { residentKib } from './machine-room/process-identity.js';
import { findRun, isAbandoned, listRuns, type RunState } from './machine-room/run-state.js';
import { testbedNodeProblems } from './testbed-problems.js';
import { startTestbed, type Testbed } from './testbed.js';

const USAGE = `usage: testbed up [--clusters west,east,south] [--nodes 2] [--networks a,a,b] [--detach | --unwatched]
       testbed fetch                       (gets every program beforehand, so that nothing has to wait for a build)
       testbed status
       testbed down [--run ID] [--all]     (without either: runs whose owner is gone, and detached ones)
--detach: the testbed goes on after this command has ended. --unwatched: nobody cleans up if this command is killed; \`down\` does.
`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    clusters: { type: 'string', default: 'west,east,south' },
    nodes: { type: 'string', default: '2' },
    networks: { type: 'string', default: '' },
    detach: { type: 'boolean', default: false },
    unwatched: { type: 'boolean', default: false },
    run: { type: 'string' },
    all: { type: 'boolean', default: false },
  },
});

switch (positionals[0]) {
  case 'up':
    await up();
    break;
  case 'down':
    await down();
    break;
  case 'fetch':
    await fetchPrograms();
    break;
  case 'status':
    status();
    break;
  default:
    process.stderr.write(USAGE);
    process.exitCode = 2;
}

async function up(): Promise<void> {
  const problems = testbedNodeProblems();
  if (problems.length > 0) {
    process.stderr.write(`${problems.join('\n')}\n`);
    process.exitCode = 1;
    return;
  }
  const startedMs = Date.now();
  const networks = values.networks.split(',');
  const clusters = values.clusters.split(',').map((name, index) => ({ name, nodes: Number(values.nodes), network: networks[index] === undefined || networks[index] === '' ? 'default' : networks[index] }));
  const starting = startTestbed({ clusters, detached: values.detach, reaper: !values.unwatched, onProgress: (message) => process.stderr.write(`testbed: ${message}\n`) });
  if (!values.detach) stopOnSignal(starting);
  const testbed = await starting;
  process.stdout.write(`testbed ${testbed.runId} is up after ${((Date.now() - startedMs) / 1000).toFixed(1)} s; the hub's address in it is ${testbed.hubAddress}\n`);
  for (const cluster of testbed.clusters) {
    writeFileSync(`${cluster.controlPlane.directory}/admin.kubeconfig`, cluster.kubeconfig(), { mode: 0o600 });
    process.stdout.write(`  ${cluster.name}: KUBECONFIG=${cluster.controlPlane.directory}/admin.kubeconfig\n`);
  }
  if (values.detach) process.exit(0);
  process.stdout.write('Ctrl-C ends it.\n');
  setInterval(() => undefined, 1 << 30);
}

async function fetchPrograms(): Promise<void> {
  const { paths, definitions } = await fetchTestbedPrograms();
  for (const [name, path] of Object.entries(paths)) process.stdout.write(`${name}: ${path}\n`);
  process.stdout.write(`Gateway API definitions: ${definitions}\n`);
}

function stopOnSignal(starting: Promise<Testbed>): void {
  const stop = (): void => {
    void starting.then((testbed) => testbed.stop()).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

async function down(): Promise<void> {
  const runs = values.run === undefined ? listRuns().filter((run) => values.all || run.detached || isAbandoned(run)) : [findRun(values.run) ?? []].flat();
  for (const run of runs) {
    await endRun(run);
    process.stdout.write(`ended testbed ${run.runId}\n`);
  }
  if (runs.length === 0) process.stdout.write('nothing to end\n');
}

function status(): void {
  for (const run of listRuns()) process.stdout.write(`${describeRun(run)}\n`);
}

function describeRun(run: RunState): string {
  const pids = livingPids(run);
  const mib = pids.reduce((sum, pid) => sum + residentKib(pid), 0) / 1024;
  const state = run.detached ? 'detached' : isAbandoned(run) ? 'abandoned' : `owned by process ${run.owner.pid}`;
  const facts = Object.entries(run.facts).map(([name, value]) => `\n  ${name}: ${value}`);
  return `${run.runId}: ${state}, ${pids.length} processes, ${mib.toFixed(0)} MiB, ${namespacesOf(run.runId).length} namespaces${facts.join('')}`;
}
