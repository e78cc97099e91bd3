import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { corePath, namespaceObject, clientPod, startTestbed, type ApiObject, type ClusterOptions, type PodRef, type Testbed, type TestbedCluster } from '#testbed';

import { HubClient } from '../../apps/cli/src/hub-client.js';
import { projectRoot } from '../testbed/machine-room/project-paths.js';
import { FleetDatabase } from './fleet-database.js';
import { freePorts } from './free-ports.js';
import { OwnProcess } from './hub-process.js';
import { openFolder } from './open-folder.js';
import { backEndObjects, frontEndObjects, modelDeployment, SAMPLE } from './sample-objects.js';
import { RunningTraffic } from './running-traffic.js';
import type { TrafficReport } from './traffic.js';
import { until } from './until.js';

/** What a fleet under test is asked for. */
export interface FleetOptions {
  readonly clusters: readonly ClusterOptions[];
  /** Where jobs run: PostgreSQL unless a Redis is given. */
  readonly redisUrl?: string;
  readonly onProgress?: (message: string) => void;
}

/** Three real clusters of one network, with two nodes each: what most tests need. */
export const THREE_CLUSTERS: readonly ClusterOptions[] = [
  { name: 'east-1', nodes: 2, nodeLabels: { 'topology.kubernetes.io/region': 'us-east', 'topology.kubernetes.io/zone': 'us-east-a' } },
  { name: 'west-1', nodes: 2, nodeLabels: { 'topology.kubernetes.io/region': 'us-west', 'topology.kubernetes.io/zone': 'us-west-a' } },
  { name: 'north-1', nodes: 1, nodeLabels: { 'topology.kubernetes.io/region': 'eu-north', 'topology.kubernetes.io/zone': 'eu-north-a' }, gpu: { product: 'NVIDIA-H100-80GB-HBM3', count: 8 } },
];

/** Two small clusters of one network: what tests of the hub need. */
export const TWO_CLUSTERS: readonly ClusterOptions[] = [{ name: 'east-1' }, { name: 'west-1' }];

const SPOKE_NAMESPACE = 'spillway-system';
const ROOT = projectRoot();
const TRAFFIC = join(ROOT, 'dist/test/fleet/traffic.js');
/** Traffic that nobody stops ends by itself. */
const TRAFFIC_SECONDS_MAX = 900;

/** The client pod from which a cluster's requests are sent. */
export const CALLER: PodRef = { namespace: SAMPLE.namespace, name: 'caller' };

/** A running fleet: real clusters on the testbed, and hub, worker and database as processes of their own. */
export class FleetUnderTest {
  readonly testbed: Testbed;
  readonly postgres: FleetDatabase;
  readonly hub: OwnProcess;
  readonly worker: OwnProcess;
  readonly client: HubClient;
  readonly folder: string;
  readonly urls: { readonly people: string; readonly machines: string; readonly workerOps: string };
  readonly adminToken: string;

  constructor(parts: { readonly testbed: Testbed; readonly postgres: FleetDatabase; readonly hub: OwnProcess; readonly worker: OwnProcess; readonly folder: string; readonly urls: FleetUnderTest['urls']; readonly adminToken: string }) {
    this.testbed = parts.testbed;
    this.postgres = parts.postgres;
    this.hub = parts.hub;
    this.worker = parts.worker;
    this.folder = parts.folder;
    this.urls = parts.urls;
    this.adminToken = parts.adminToken;
    this.client = new HubClient({ url: parts.urls.people, token: parts.adminToken });
  }

  get clusters(): readonly TestbedCluster[] {
    return this.testbed.clusters;
  }

  /** Registers a cluster through GraphQL with its administrator's kubeconfig. */
  async register(cluster: TestbedCluster, location: { readonly region: string; readonly zone: string }): Promise<void> {
    const input = { name: cluster.name, kubeconfig: cluster.kubeconfig(), network: cluster.network, location };
    await this.client.mutate('registerCluster', 'mutation R($input: RegisterClusterInput!) { registerCluster(input: $input) { userErrors { path code message } } }', { input });
  }

  /** Waits until every cluster's spoke has told everything once. */
  async waitUntilJoined(timeoutMs = 180_000): Promise<void> {
    let last = '';
    const hasJoined = async (): Promise<boolean> => {
      const { clusters } = await this.client.query<{ readonly clusters: { readonly nodes: readonly { readonly name: string; readonly freshness: string; readonly firstListComplete: boolean; readonly conditions: readonly { readonly status: string; readonly reason: string; readonly message: string }[] }[] } }>(
        '{ clusters(first: 100) { nodes { name freshness firstListComplete conditions { type status reason message } } } }',
      );
      last = JSON.stringify(clusters.nodes);
      return clusters.nodes.length === this.clusters.length && clusters.nodes.every((node) => node.freshness === 'FRESH' && node.firstListComplete);
    };
    await until('every cluster has joined', hasJoined, timeoutMs, 250).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${last}`, { cause: error });
    });
  }

  /** Says that a namespace means the same thing in all clusters. */
  async shareNamespace(namespace: string): Promise<void> {
    const all = { all: true };
    await this.client.mutate('setSamenessPolicy', 'mutation S($input: SetSamenessPolicyInput!) { setSamenessPolicy(input: $input) { userErrors { path code message } } }', { input: { name: namespace, namespaces: [namespace], mayExport: all, mayImport: all, owner: 'platform' } });
  }

  /** Makes cluster DNS of every cluster forward gw.cluster.local to its spoke. */
  async configureDns(): Promise<void> {
    await Promise.all(
      this.clusters.map(async (cluster) => {
        let address: string | undefined;
        await until(`${cluster.name} has the Service spillway-spoke-dns`, async () => {
          address = ((await cluster.api.find(corePath(SPOKE_NAMESPACE, 'services', 'spillway-spoke-dns'))) as { readonly spec?: { readonly clusterIP?: string } } | undefined)?.spec?.clusterIP;
          return address !== undefined;
        });
        await cluster.configureStubZone('gw.cluster.local', address ?? '');
      }),
    );
  }

  /** Deploys the sample in every cluster: front end and back end everywhere, as many servers as given. */
  async deploySample(replicas: Readonly<Record<string, number>>): Promise<void> {
    await Promise.all(
      this.clusters.map(async (cluster) => {
        const count = replicas[cluster.name] ?? 0;
        await cluster.apply([namespaceObject(SAMPLE.namespace)]);
        await cluster.apply([clientPod(CALLER), modelDeployment(count), ...backEndObjects, ...frontEndObjects]);
      }),
    );
    await Promise.all(this.clusters.map((cluster) => cluster.waitForReadyPods(SAMPLE.namespace, `app=${SAMPLE.name}`, replicas[cluster.name] ?? 0, 60_000)));
    await Promise.all(this.clusters.map((cluster) => cluster.waitForReadyPods(CALLER.namespace, `app=${CALLER.name}`, 1, 60_000)));
  }

  /** Sets how many servers a cluster has. */
  async scaleSample(cluster: TestbedCluster, replicas: number): Promise<void> {
    await cluster.apply([modelDeployment(replicas)]);
  }

  /** Makes a server say that it is ready, or not; it answers either way. */
  async setServing(cluster: TestbedCluster, pod: string, ready: boolean): Promise<void> {
    const call = `await fetch('http://127.0.0.1:${SAMPLE.targetPort}/ready', { method: '${ready ? 'PUT' : 'DELETE'}' })`;
    const result = await cluster.exec({ namespace: SAMPLE.namespace, name: pod }, [process.execPath, '--input-type=module', '-e', call]);
    if (result.code !== 0) throw new Error(`${pod} does not take its readiness: ${result.stderr}`);
  }

  /** Waits until a cluster's Gateway says Programmed, and returns its address. */
  async gatewayAddress(cluster: TestbedCluster): Promise<string> {
    let gateway: GatewayStatus | undefined;
    const isProgrammed = async (): Promise<boolean> => {
      gateway = await cluster.api.find(`/apis/gateway.networking.k8s.io/v1/namespaces/${SAMPLE.namespace}/gateways/${SAMPLE.name}`);
      return gateway?.status?.conditions?.some((condition) => condition.type === 'Programmed' && condition.status === 'True') === true;
    };
    await until(`${cluster.name}: Gateway Programmed`, isProgrammed, 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(gateway?.status)}`, { cause: error });
    });
    return gateway?.status?.addresses?.[0]?.value ?? '';
  }

  /** Sends constant traffic from a cluster's client pod and returns what it saw. */
  async traffic(cluster: TestbedCluster, options: { readonly rate: number; readonly seconds: number; readonly url?: string }): Promise<TrafficReport> {
    const url = options.url ?? `http://${SAMPLE.host}/`;
    const command = [process.execPath, TRAFFIC, url, '--rate', String(options.rate), '--seconds', String(options.seconds)];
    const result = await cluster.exec(CALLER, command, (options.seconds + 30) * 1000);
    if (result.code !== 0) throw new Error(`traffic in ${cluster.name} failed: ${result.stderr}`);
    return JSON.parse(result.stdout.trim().split('\n').at(-1) ?? '{}') as TrafficReport;
  }

  /** Sends constant traffic from a cluster's client pod until it is stopped. */
  async startTraffic(cluster: TestbedCluster, options: { readonly rate: number; readonly url?: string }): Promise<RunningTraffic> {
    const command = [process.execPath, TRAFFIC, options.url ?? `http://${SAMPLE.host}/`, '--rate', String(options.rate), '--seconds', String(TRAFFIC_SECONDS_MAX)];
    return new RunningTraffic(cluster.name, await cluster.spawn(CALLER, command));
  }

  /** Waits until a burst from a cluster is answered by exactly these clusters. */
  async waitUntilAnsweredBy(from: TestbedCluster, names: readonly string[], timeoutMs = 60_000): Promise<TrafficReport> {
    const want = [...names].sort().join(',');
    let report: TrafficReport | undefined;
    const isAnswered = async (): Promise<boolean> => {
      report = await this.traffic(from, { rate: 60, seconds: 0.6 });
      return report.failed === 0 && Object.keys(report.byCluster).sort().join(',') === want;
    };
    await until(`${from.name} is answered by ${want}`, isAnswered, timeoutMs).catch((error: unknown) => {
      throw new Error(`${String(error)}; last: ${JSON.stringify(report)}`, { cause: error });
    });
    return report as TrafficReport;
  }

  /** Ends everything and leaves nothing behind. */
  async stop(): Promise<void> {
    await this.worker.end();
    await this.hub.end();
    await this.testbed.stop();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface GatewayStatus extends ApiObject {
  readonly status?: { readonly addresses?: readonly { readonly value: string }[]; readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Starts clusters, database, hub and worker; nothing is registered yet. */
export async function startFleet(options: FleetOptions): Promise<FleetUnderTest> {
  const say = options.onProgress ?? (() => undefined);
  const folder = openFolder('spillway-fleet-');
  const [databasePort = 0] = await freePorts(1);
  const postgres = await FleetDatabase.start(join(folder, 'postgres'), databasePort);
  const testbed = await startTestbed({ clusters: options.clusters, onProgress: say }).catch(async (error: unknown) => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  const urls = await pickUrls(testbed.hubAddress);
  const adminToken = randomBytes(24).toString('base64url');
  writeFileSync(join(folder, 'encryption-key'), randomBytes(32).toString('base64'), { mode: 0o600 });
  const env = {
    SPILLWAY_DATABASE_URL: postgres.connectionString,
    SPILLWAY_PUBLIC_URL: urls.machines,
    SPILLWAY_ENCRYPTION_KEY_FILE: join(folder, 'encryption-key'),
    SPILLWAY_ADMIN_TOKEN: adminToken,
    SPILLWAY_PEOPLE_HOST: '127.0.0.1',
    SPILLWAY_PEOPLE_PORT: portOf(urls.people),
    SPILLWAY_MACHINE_PORT: portOf(urls.machines),
    SPILLWAY_HUB_READY_URL: `${urls.people}/readyz`,
    SPILLWAY_OPS_HOST: '127.0.0.1',
    SPILLWAY_OPS_PORT: portOf(urls.workerOps),
    SPILLWAY_ALLOW_LOCAL_CLUSTERS: 'true',
    SPILLWAY_LOG_LEVEL: 'info',
    ...(options.redisUrl === undefined ? {} : { SPILLWAY_REDIS_URL: options.redisUrl }),
  };
  const own = (what: string, readyUrl: string): OwnProcess => new OwnProcess({ what, program: join(ROOT, `dist/apps/${what}/src/main.js`), env, readyUrl, logFolder: join(folder, 'logs') });
  const fleet = new FleetUnderTest({ testbed, postgres, hub: own('hub', `${urls.people}/readyz`), worker: own('worker', `${urls.workerOps}/readyz`), folder, urls, adminToken });
  try {
    say('starting hub and worker');
    await fleet.hub.start();
    await fleet.worker.start();
    return fleet;
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

const portOf = (url: string): string => new URL(url).port;

async function pickUrls(hubAddress: string): Promise<FleetUnderTest['urls']> {
  const [people, machines, workerOps] = await freePorts(3);
  return { people: `http://127.0.0.1:${people}`, machines: `https://${hubAddress}:${machines}`, workerOps: `http://127.0.0.1:${workerOps}` };
}
