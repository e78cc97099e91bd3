import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { startEmbeddedPostgres } from '#adapters/embedded-postgres';
import { HttpHubLink } from '#adapters/hub-link';
import { loadHubConfig, startHub } from '#apps/hub';
import { startSimulatedMember, type SimulatedMember } from '#apps/spoke';
import { loadWorkerConfig, startWorker } from '#apps/worker';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { buildNftRuleset, tracePacket, type NftRuleset } from '#domain/nft-ruleset';
import { parseXdsSnapshot } from '#domain/xds-snapshot';
import { SystemClock, SystemRandom } from '#platform';
import type { KubeKind, KubeObject } from '#ports';
import { FakeKube } from '#testing';

import { HubClient } from '../../apps/cli/src/hub-client.js';
import { freePorts } from '../fleet/free-ports.js';
import { openFolder } from '../fleet/open-folder.js';
import { backEndObjects, frontEndObjects, SAMPLE } from '../fleet/sample-objects.js';
import type { TrafficReport } from '../fleet/traffic.js';
import { until } from '../fleet/until.js';
import { Story } from './story.js';

const MEMBERS = [
  { name: 'east-1', region: 'us-east', pods: '10.1', replicas: 2 },
  { name: 'west-1', region: 'us-west', pods: '10.2', replicas: 4 },
  { name: 'north-1', region: 'eu-north', pods: '10.3', replicas: 2 },
] as const;

type MemberName = (typeof MEMBERS)[number]['name'];

/**
 * The story with members that have no machines: a real hub on a real PostgreSQL, the real spoke controller of each member over
 * an API server in memory, and requests that are traced through the very nftables table that its nodes would load.
 */
export async function runSimulatedDemo(options: { readonly check: boolean; readonly because: readonly string[] }): Promise<number> {
  const story = new Story();
  process.stdout.write(`Real clusters cannot run here (${options.because.join('; ')}), so this is the same story with simulated members.\n`);
  const folder = openFolder('spillway-demo-');
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const fleet = await startSimulatedFleet(folder, stops, story);
    await tell(story, fleet);
    if (!options.check) await stayUp(fleet);
  } catch (error) {
    story.expect(false, error instanceof Error ? error.message : String(error));
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
  return story.exitCode();
}

interface SimulatedFleet {
  readonly client: HubClient;
  readonly token: string;
  readonly kubes: ReadonlyMap<MemberName, FakeKube>;
  readonly members: ReadonlyMap<MemberName, SimulatedMember>;
}

async function startSimulatedFleet(folder: string, stops: (() => Promise<unknown>)[], story: Story): Promise<SimulatedFleet> {
  story.chapter('A hub, and three simulated members');
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), isDurable: false });
  stops.push(() => postgres.stop());
  const token = randomBytes(24).toString('base64url');
  const [machinePort] = await freePorts(1);
  const env = {
    SPILLWAY_DATABASE_URL: postgres.connectionString,
    SPILLWAY_PUBLIC_URL: `https://127.0.0.1:${machinePort}`,
    SPILLWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    SPILLWAY_ADMIN_TOKEN: token,
    SPILLWAY_PEOPLE_HOST: '127.0.0.1',
    SPILLWAY_PEOPLE_PORT: '0',
    SPILLWAY_MACHINE_HOST: '127.0.0.1',
    SPILLWAY_MACHINE_PORT: String(machinePort),
    SPILLWAY_OPS_HOST: '127.0.0.1',
    SPILLWAY_OPS_PORT: '0',
    SPILLWAY_LOG_LEVEL: 'warn',
  };
  const hub = await startHub(loadHubConfig(env));
  stops.push(() => hub.stop());
  const worker = await startWorker(loadWorkerConfig(env));
  stops.push(() => worker.stop());
  const client = new HubClient({ url: hub.urls.people, token });
  const kubes = new Map<MemberName, FakeKube>();
  const members = new Map<MemberName, SimulatedMember>();
  for (const { name, region } of MEMBERS) {
    const kube = new FakeKube();
    // Its identity: each real cluster's kube-system has a UID of its own.
    kube.seed(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: randomUUID() } });
    const member = await startSimulatedMember({ kube, link: new HttpHubLink({ clock: new SystemClock(), version: 'demo' }), joinToken: await joinToken(client, name, region), nodes: [`${name}-1`], region });
    stops.push(() => member.stop());
    kubes.set(name, kube);
    members.set(name, member);
    story.say(`${name} joins`);
  }
  return { client, token, kubes, members };
}

const USER_ERRORS = 'userErrors { path code message }';

async function joinToken(client: HubClient, name: string, region: string): Promise<string> {
  await client.mutate('registerCluster', `mutation R($input: RegisterClusterInput!) { registerCluster(input: $input) { ${USER_ERRORS} } }`, { input: { name, network: 'one', location: { region, zone: '' } } });
  const { joinToken: made } = await client.mutate<{ readonly joinToken: { readonly token: string }; readonly userErrors: [] }>('createJoinToken', `mutation T($input: CreateJoinTokenInput!) { createJoinToken(input: $input) { joinToken { token } ${USER_ERRORS} } }`, { input: { name } });
  return made.token;
}

async function tell(story: Story, fleet: SimulatedFleet): Promise<void> {
  await until('all members report', async () => (await fleet.client.query<{ readonly fleet: { readonly freshCount: number } }>('{ fleet { freshCount } }')).fleet.freshCount === MEMBERS.length);
  story.expect(true, 'all three enrolled and report');
  const all = { all: true };
  await fleet.client.mutate('setSamenessPolicy', `mutation S($input: SetSamenessPolicyInput!) { setSamenessPolicy(input: $input) { ${USER_ERRORS} } }`, { input: { name: SAMPLE.namespace, namespaces: [SAMPLE.namespace], mayExport: all, mayImport: all } });
  for (const { name, replicas } of MEMBERS) await deploy(fleet, name, replicas);
  story.say('deployed Gateway, TCPRoute, CompositeBackend and EndpointSelector in each');

  story.chapter(`Call ${SAMPLE.host} from east-1`);
  await untilAnsweredBy(fleet, MEMBERS.map(({ name }) => name));
  const balanced = callFrom(fleet, 'east-1', 600);
  story.answers('east-1', balanced);
  story.expect(balanced.failed === 0 && Object.keys(balanced.byCluster).length === 3, 'all three clusters answer, by ready capacity 2 : 4 : 2');

  story.chapter('Take the pods of west-1 away');
  for (let index = 0; index < 4; index += 1) await fleet.kubes.get('west-1')?.remove(KUBE_KINDS.pod, { namespace: SAMPLE.namespace, name: `model-${index}` });
  await untilAnsweredBy(fleet, ['east-1', 'north-1']);
  story.answers('east-1', callFrom(fleet, 'east-1', 600));
  story.expect(true, 'the answers moved to east-1 and north-1; the address did not change');
}

async function deploy(fleet: SimulatedFleet, member: MemberName, replicas: number): Promise<void> {
  const kube = fleet.kubes.get(member);
  if (kube === undefined) return;
  await kube.create(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SAMPLE.namespace } });
  const kinds: Readonly<Record<string, KubeKind>> = { EndpointSelector: KUBE_KINDS.endpointSelector, CompositeBackend: KUBE_KINDS.compositeBackend, Gateway: KUBE_KINDS.gateway, TCPRoute: KUBE_KINDS.tcpRoute };
  for (const object of [...backEndObjects, ...frontEndObjects]) {
    const kind = kinds[object.kind ?? ''];
    if (kind !== undefined) await kube.create(kind, structuredClone(object) as KubeObject);
  }
  for (let index = 0; index < replicas; index += 1) await createPod(kube, member, index);
}

async function createPod(kube: FakeKube, member: MemberName, index: number): Promise<void> {
  const address = `${MEMBERS.find(({ name }) => name === member)?.pods ?? ''}.0.${index + 10}`;
  const metadata = { namespace: SAMPLE.namespace, name: `model-${index}`, labels: { app: SAMPLE.name } };
  const created = await kube.create(KUBE_KINDS.pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: `${member}-1`, containers: [{ name: 'server', ports: [{ name: 'http', containerPort: SAMPLE.targetPort }] }] } });
  await kube.replaceStatus(KUBE_KINDS.pod, { ...created, status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }], conditions: [{ type: 'Ready', status: 'True' }] } });
}

/** Traces requests through the table that the member's nodes would load, each with a fresh random number. */
function callFrom(fleet: SimulatedFleet, member: MemberName, count: number): TrafficReport {
  const snapshot = fleet.members.get(member)?.nodes.snapshot;
  const plan = snapshot === undefined ? { frontends: [], backends: [], gatewayPorts: [] } : parseXdsSnapshot(snapshot);
  const vip = plan.frontends[0]?.addresses[0];
  const byCluster: Record<string, number> = {};
  if (vip === undefined) return { sent: count, failed: count, byCluster, byPod: {}, errors: { 'no address': count }, latencyMsMax: 0 };
  const ruleset = buildNftRuleset(plan);
  const random = new SystemRandom();
  let failed = 0;
  for (let call = 0; call < count; call += 1) {
    const cluster = answeringCluster(ruleset, vip, random.next());
    if (cluster === undefined) failed += 1;
    else byCluster[cluster] = (byCluster[cluster] ?? 0) + 1;
  }
  return { sent: count, failed, byCluster, byPod: {}, errors: failed === 0 ? {} : { rejected: failed }, latencyMsMax: 0 };
}

function answeringCluster(ruleset: NftRuleset, vip: string, random: number): string | undefined {
  const trace = tracePacket(ruleset, { hook: 'prerouting', src: '10.1.0.200', dst: vip, protocol: 'tcp', dport: SAMPLE.port, random });
  return trace.verdict === 'dnat' ? MEMBERS.find(({ pods }) => trace.to.startsWith(`${pods}.`))?.name : undefined;
}

async function untilAnsweredBy(fleet: SimulatedFleet, names: readonly string[]): Promise<void> {
  const want = [...names].sort().join();
  await until(`answered by ${want}`, () => {
    const report = callFrom(fleet, 'east-1', 200);
    return report.failed === 0 && Object.keys(report.byCluster).sort().join() === want;
  });
}

async function stayUp(fleet: SimulatedFleet): Promise<void> {
  process.stdout.write(`\nThe hub stays up until Ctrl-C: ${fleet.client.url}/graphql (Authorization: Bearer ${fleet.token})\n`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
}
