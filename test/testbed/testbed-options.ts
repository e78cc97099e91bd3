import { join } from 'node:path';
import { statSync } from 'node:fs';

import { binaryCacheDirectory, resolveBinary } from './binaries/index.js';
import type { ImageProgram } from './kubelet/kubelet-config.js';
import { CLUSTERS_MAX, nodePodCidr, NODES_MAX } from './machine-room/address-plan.js';
import { projectRoot, testbedProgram } from './machine-room/project-paths.js';
import { programOnPath } from './machine-room/program-on-path.js';
import { COREDNS_IMAGE } from './nodes/cluster-dns.js';

/** The image of a back end that says who it is (images/echo-server.ts). */
export const ECHO_IMAGE = 'spillway.test/echo-server:1';

/** The image of a pod that does nothing; a place to run commands from. */
export const CLIENT_IMAGE = 'spillway.test/client:1';

/** One member cluster as asked for. */
export interface ClusterOptions {
  readonly name: string;
  /** Clusters of one network reach each other's pods. Default: one network for all. */
  readonly network?: string;
  /** A /16. Default: 10.1.0.0/16, 10.2.0.0/16, … Clusters on different networks may have the same. */
  readonly podCidr?: string;
  /** Default: 10.96.0.0/16; each cluster has its own, so all may be the same. */
  readonly serviceCidr?: string;
  /** How many nodes (default 1), or each one's own settings. */
  readonly nodes?: number | readonly NodeSettings[];
  /** Labels of every node, such as topology.kubernetes.io/region. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /** GPUs of every node. */
  readonly gpu?: GpuSettings;
}

/** What is special about one node. */
export interface NodeSettings {
  readonly labels?: Readonly<Record<string, string>>;
  readonly gpu?: GpuSettings;
}

/** GPUs as NVIDIA's device plugin and feature discovery show them. */
export interface GpuSettings {
  readonly product: string;
  readonly count: number;
}

/** What a testbed is asked for. */
export interface TestbedOptions {
  readonly clusters: readonly ClusterOptions[];
  /** Programs for more images, or other programs for known ones. */
  readonly images?: readonly ImageProgram[];
  /** Real kube-proxy in nftables mode on every node; default true. Without it there is no cluster DNS either. */
  readonly kubeProxy?: boolean;
  /** CoreDNS behind kube-dns; default true. */
  readonly clusterDns?: boolean;
  /** Gateway API's definitions, experimental channel; default true. */
  readonly gatewayApi?: boolean;
  /** True: the testbed outlives this process, until `down`. */
  readonly detached?: boolean;
  /** False: nobody watches this process; the next start or `down` cleans up behind it. */
  readonly reaper?: boolean;
  /** Told what is going on, for people who wait. */
  readonly onProgress?: (message: string) => void;
}

/** A cluster with everything decided. */
export interface PlannedCluster {
  readonly name: string;
  readonly network: string;
  readonly podCidr: string;
  readonly serviceCidr: string;
  readonly nodes: readonly { readonly name: string; readonly podCidr: string; readonly labels: Readonly<Record<string, string>>; readonly capacity: Readonly<Record<string, string>> }[];
}

/** Fills in the defaults and names every contradiction. */
export function planClusters(options: readonly ClusterOptions[]): readonly PlannedCluster[] {
  const planned = options.map((cluster, index) => planCluster(cluster, index));
  const problems = clusterProblems(planned);
  if (problems.length > 0) throw new Error(`the testbed's clusters contradict each other:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  return planned;
}

/** The programs that containers can run: the project's own, CoreDNS, and the test images. */
export async function defaultImages(): Promise<readonly ImageProgram[]> {
  const node = process.execPath;
  return [
    { image: 'ghcr.io/spillway-dev/spoke:*', entrypoint: [node, join(projectRoot(), 'dist/apps/spoke/src/main.js')] },
    { image: COREDNS_IMAGE, entrypoint: [await resolveBinary('coredns')] },
    { image: ECHO_IMAGE, entrypoint: [node, '--max-semi-space-size=1', testbedProgram('images/echo-server.js')] },
    { image: CLIENT_IMAGE, entrypoint: [programOnPath('sleep') ?? 'sleep', 'infinity'] },
  ];
}

/** Directories that pods' programs live in and that are not on the root file system, which all pods see. */
export function directoriesOffRoot(): readonly string[] {
  const root = statSync('/').dev;
  return [projectRoot(), binaryCacheDirectory(), join(process.execPath, '..')].filter((path) => statSync(path).dev !== root);
}

function planCluster(cluster: ClusterOptions, index: number): PlannedCluster {
  const podCidr = cluster.podCidr ?? `10.${index + 1}.0.0/16`;
  const asked = cluster.nodes ?? 1;
  const nodes: readonly NodeSettings[] = typeof asked === 'number' ? Array.from({ length: asked }, () => ({})) : asked;
  return {
    name: cluster.name,
    network: cluster.network ?? 'default',
    podCidr,
    serviceCidr: cluster.serviceCidr ?? '10.96.0.0/16',
    nodes: nodes.map((node, nodeIndex) => {
      const gpu = node.gpu ?? cluster.gpu;
      return {
        name: `${cluster.name}-${nodeIndex + 1}`,
        podCidr: nodePodCidr(podCidr, nodeIndex),
        labels: { ...cluster.nodeLabels, ...gpuLabels(gpu), ...node.labels },
        capacity: gpu === undefined ? {} : { 'nvidia.com/gpu': String(gpu.count) },
      };
    }),
  };
}

function gpuLabels(gpu: GpuSettings | undefined): Record<string, string> {
  return gpu === undefined ? {} : { 'nvidia.com/gpu.present': 'true', 'nvidia.com/gpu.product': gpu.product, 'nvidia.com/gpu.count': String(gpu.count) };
}

function clusterProblems(clusters: readonly PlannedCluster[]): string[] {
  const twins = (of: (cluster: PlannedCluster) => string): PlannedCluster[] => clusters.filter((cluster, index) => clusters.findIndex((other) => of(other) === of(cluster)) !== index);
  return [
    ...(clusters.length > CLUSTERS_MAX ? [`${clusters.length} clusters are more than ${CLUSTERS_MAX}`] : []),
    ...clusters.filter((cluster) => cluster.nodes.length > NODES_MAX).map((cluster) => `${cluster.name}: ${cluster.nodes.length} nodes are more than ${NODES_MAX}`),
    ...clusters.filter((cluster) => !/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(cluster.name)).map((cluster) => `${cluster.name}: a name has 1 to 20 lower-case letters, digits and dashes`),
    ...twins((cluster) => cluster.name).map((cluster) => `${cluster.name}: two clusters have this name`),
    ...twins((cluster) => `${cluster.network} ${cluster.podCidr}`).map((cluster) => `${cluster.name}: another cluster on network ${cluster.network} has the pod range ${cluster.podCidr}`),
  ];
}
