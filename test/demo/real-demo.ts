import { CALLER, startFleet, THREE_CLUSTERS, type FleetUnderTest } from '../fleet/fleet-under-test.js';
import { SAMPLE } from '../fleet/sample-objects.js';
import { Story } from './story.js';

const REPLICAS = { 'east-1': 2, 'west-1': 4, 'north-1': 2 } as const;

/** Runs the story on real clusters. Returns the exit code. */
export async function runRealDemo(options: { readonly check: boolean }): Promise<number> {
  const story = new Story();
  story.chapter('Three real Kubernetes API servers, five nodes, one hub');
  const starting = startFleet({ clusters: THREE_CLUSTERS, onProgress: (message) => story.say(message) });
  let interrupted = false;
  // While the fleet starts, its end waits for the start: what is half there cannot be taken down whole.
  const interrupt = (): void => {
    interrupted = true;
    story.chapter('Ending the fleet (a start under way is finished first)');
    void starting
      .then((fleet) => fleet.stop())
      .catch(() => undefined)
      .then(() => process.exit(130));
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const fleet = await starting.catch((error: unknown) => {
    if (!interrupted) story.expect(false, error instanceof Error ? error.message : String(error));
  });
  if (fleet === undefined) return story.exitCode();
  try {
    if (!interrupted) await tell(story, fleet);
    if (!interrupted && !options.check) await stayUp(story, fleet);
  } catch (error) {
    if (!interrupted) story.expect(false, error instanceof Error ? error.message : String(error));
  } finally {
    if (!interrupted) {
      process.removeListener('SIGINT', interrupt);
      process.removeListener('SIGTERM', interrupt);
      await fleet.stop();
    }
  }
  return story.exitCode();
}

async function tell(story: Story, fleet: FleetUnderTest): Promise<void> {
  const east = fleet.testbed.cluster('east-1');
  const west = fleet.testbed.cluster('west-1');

  story.chapter('Join: registerCluster for each; the worker installs a spoke in it');
  for (const [index, cluster] of fleet.clusters.entries()) {
    const labels = THREE_CLUSTERS[index]?.nodeLabels ?? {};
    await fleet.register(cluster, { region: labels['topology.kubernetes.io/region'] ?? '', zone: labels['topology.kubernetes.io/zone'] ?? '' });
    story.say(`registered ${cluster.name}`);
  }
  await fleet.waitUntilJoined();
  story.expect(true, 'all three spokes enrolled, listed their cluster and report');
  await fleet.shareNamespace(SAMPLE.namespace);
  story.say(`policy: namespace ${SAMPLE.namespace} means the same thing in all clusters`);
  await fleet.configureDns();
  story.say('cluster DNS forwards gw.cluster.local to the spoke');

  story.chapter('Deploy: Gateway, TCPRoute, CompositeBackend and EndpointSelector, the same in each cluster');
  await fleet.deploySample(REPLICAS);
  const address = await fleet.gatewayAddress(east);
  story.expect(address !== '', `Gateway ai/model in east-1 is Programmed at ${address}, acknowledged by every node`);

  story.chapter(`Call http://${SAMPLE.host} from a pod in east-1`);
  await fleet.waitUntilAnsweredBy(east, fleet.clusters.map((cluster) => cluster.name));
  const balanced = await fleet.traffic(east, { rate: 200, seconds: 3 });
  story.answers('east-1', balanced);
  story.expect(balanced.failed === 0, 'no request failed');
  story.expect(Object.keys(balanced.byCluster).length === 3, 'all three clusters answer, by ready capacity 2 : 4 : 2');

  story.chapter('Take the pods of west-1 away while requests go on');
  const during = fleet.traffic(east, { rate: 50, seconds: 8 });
  // By the time that a first burst is back, the constant traffic is under way.
  await fleet.traffic(east, { rate: 20, seconds: 1 });
  await fleet.scaleSample(west, 0);
  const moved = await during;
  story.answers('east-1, during the move', moved);
  await fleet.waitUntilAnsweredBy(east, ['east-1', 'north-1']);
  const after = await fleet.traffic(east, { rate: 200, seconds: 2 });
  story.answers('east-1', after);
  story.expect(after.failed === 0 && after.byCluster['west-1'] === undefined, 'the answers moved to east-1 and north-1; the address did not change');
  story.expect((await fleet.gatewayAddress(east)) === address, `still ${address}`);

  story.chapter('Bring them back');
  await fleet.scaleSample(west, REPLICAS['west-1']);
  await fleet.waitUntilAnsweredBy(east, fleet.clusters.map((cluster) => cluster.name));
  story.answers('east-1', await fleet.traffic(east, { rate: 200, seconds: 2 }));
  story.expect(true, 'west-1 answers again');
}

async function stayUp(story: Story, fleet: FleetUnderTest): Promise<void> {
  story.chapter('The fleet stays up until Ctrl-C');
  process.stdout.write(
    [
      `  GraphQL     ${fleet.urls.people}/graphql   (Authorization: Bearer ${fleet.adminToken})`,
      `  spoke API   ${fleet.urls.machines}`,
      `  metrics     ${fleet.urls.people}/metrics  ${fleet.urls.workerOps}/metrics`,
      `  logs        ${fleet.folder}/logs`,
      '  try         (in another terminal)',
      `    export SPILLWAY_HUB=${fleet.urls.people} SPILLWAY_TOKEN=${fleet.adminToken}`,
      '    npm run -s spillway -- clusters',
      '    npm run -s spillway -- backends ai/model',
      '    npm run -s spillway -- diagnose',
      ...fleet.clusters.map((cluster) => `    kubectl --kubeconfig ${cluster.controlPlane.directory}/admin.kubeconfig -n ${CALLER.namespace} get gateways,pods   # ${cluster.name}`),
      '',
    ].join('\n'),
  );
  await new Promise<never>(() => {});
}
