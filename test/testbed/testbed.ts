import { gatewayApiCrds, resolveBinaries, TESTBED_BINARIES } from './binaries/index.js';
import { ControlPlane } from './control-plane/control-plane.js';
import { applyObjects, parseObjects } from './kube-api/apply-objects.js';
import type { ImageProgram } from './kubelet/kubelet-config.js';
import { clusterAddresses, nthAddress } from './machine-room/address-plan.js';
import { MachineRoom } from './machine-room/machine-room.js';
import { clusterDnsObjects } from './nodes/cluster-dns.js';
import { applyRoutes, planRoutes, type ClusterNetwork } from './nodes/lay-network.js';
import { TestbedNode } from './nodes/testbed-node.js';
import { TestbedCluster } from './testbed-cluster.js';
import { defaultImages, directoriesOffRoot, planClusters, type PlannedCluster, type TestbedOptions } from './testbed-options.js';
import { testbedNodeProblems } from './testbed-problems.js';

/** A running testbed. */
export interface Testbed {
  readonly runId: string;
  readonly clusters: readonly TestbedCluster[];
  /** Where members reach what listens in the root network namespace, such as the hub; not loopback. */
  readonly hubAddress: string;
  /** The cluster of this name. */
  cluster(name: string): TestbedCluster;
  /** Ends everything and leaves nothing behind. */
  stop(): Promise<void>;
}

/** Starts real clusters and returns once their nodes are registered and their DNS answers. */
export async function startTestbed(options: TestbedOptions): Promise<Testbed> {
  const problems = testbedNodeProblems();
  if (problems.length > 0) throw new Error(`the testbed cannot run here:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  const planned = planClusters(options.clusters);
  await resolveBinaries(TESTBED_BINARIES);
  const room = await MachineRoom.open({ ...(options.detached === undefined ? {} : { detached: options.detached }), ...(options.reaper === undefined ? {} : { reaper: options.reaper }) });
  try {
    return await build(room, planned, options);
  } catch (error) {
    await room.close();
    throw error;
  }
}

async function build(room: MachineRoom, planned: readonly PlannedCluster[], options: TestbedOptions): Promise<Testbed> {
  const say = options.onProgress ?? (() => undefined);
  const images = [...(options.images ?? []), ...(await defaultImages())];
  say(`starting ${planned.length} control planes`);
  const planes = await Promise.all(planned.map((cluster, index) => ControlPlane.start(room, planeOptions(room, cluster, index))));
  say('starting nodes');
  const clusters = await Promise.all(planned.map((cluster, index) => createCluster({ room, plane: planes[index], cluster, index, images, options })));
  await layNetwork(room, clusters);
  await Promise.all(clusters.flatMap((cluster) => cluster.nodes.map((node) => node.startPrograms())));
  say('installing cluster DNS and the Gateway API definitions');
  await Promise.all(clusters.map((cluster, index) => furnish(cluster, planned[index], options)));
  room.note(Object.fromEntries(clusters.map((cluster) => [cluster.name, `${cluster.controlPlane.directory}/admin.kubeconfig`])));
  return {
    runId: room.runId,
    clusters,
    hubAddress: room.addresses.hub,
    cluster: (name) => requireCluster(clusters, name),
    stop: async () => {
      for (const cluster of clusters) cluster.controlPlane.close();
      await room.close();
    },
  };
}

function planeOptions(room: MachineRoom, cluster: PlannedCluster, index: number): Parameters<typeof ControlPlane.start>[1] {
  return {
    name: cluster.name,
    address: clusterAddresses(room.slot, index).controlPlane,
    serviceCidr: cluster.serviceCidr,
    controllers: ['kube-controller-manager', 'kube-scheduler'],
  };
}

async function createCluster(parts: { readonly room: MachineRoom; readonly plane: ControlPlane | undefined; readonly cluster: PlannedCluster; readonly index: number; readonly images: readonly ImageProgram[]; readonly options: TestbedOptions }): Promise<TestbedCluster> {
  const { room, plane, cluster, index, images, options } = parts;
  if (plane === undefined) throw new Error(`cluster ${cluster.name} has no control plane`);
  const addresses = clusterAddresses(room.slot, index);
  const shared = { clusterPodCidr: cluster.podCidr, dnsAddress: nthAddress(cluster.serviceCidr, 10), images, bindDirectories: directoriesOffRoot(), kubeProxy: options.kubeProxy ?? true };
  const nodes = await Promise.all(cluster.nodes.map((node, nodeIndex) => TestbedNode.create(room, plane, { ...shared, ...node, address: addresses.node(nodeIndex) })));
  return new TestbedCluster({ network: cluster.network, podCidr: cluster.podCidr, nodes, controlPlane: plane });
}

async function layNetwork(room: MachineRoom, clusters: readonly TestbedCluster[]): Promise<void> {
  const networks: ClusterNetwork[] = clusters.map((cluster, index) => ({
    name: cluster.name,
    network: cluster.network,
    podCidr: cluster.podCidr,
    hostCidr: clusterAddresses(room.slot, index).cidr,
    controlPlane: cluster.controlPlane,
    nodes: cluster.nodes,
  }));
  const plans = planRoutes(networks, room.addresses.cidr);
  await Promise.all(plans.map(applyRoutes));
  for (const node of clusters.flatMap((cluster) => cluster.nodes)) {
    const plan = plans.find((candidate) => candidate.namespace === node.namespace);
    if (plan !== undefined) node.restoreRoutes = () => applyRoutes(plan);
  }
}

async function furnish(cluster: TestbedCluster, planned: PlannedCluster | undefined, options: TestbedOptions): Promise<void> {
  const wantsDns = (options.clusterDns ?? true) && (options.kubeProxy ?? true) && cluster.nodes.length > 0;
  if (wantsDns) await cluster.apply(clusterDnsObjects(nthAddress(planned?.serviceCidr ?? '', 10)));
  if (options.gatewayApi ?? true) await applyObjects(cluster.api, (await gatewayApiCrds()).flatMap(parseObjects));
  if (wantsDns) await cluster.waitForReadyPods('kube-system', 'k8s-app=kube-dns', 1, 60_000);
}

function requireCluster(clusters: readonly TestbedCluster[], name: string): TestbedCluster {
  const found = clusters.find((cluster) => cluster.name === name);
  if (found === undefined) throw new Error(`the testbed has no cluster ${name}; it has ${clusters.map((cluster) => cluster.name).join(', ')}`);
  return found;
}
