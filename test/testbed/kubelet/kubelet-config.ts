import type { KubeAccess } from '../control-plane/kubeconfig.js';

/** What runs when a container names an image. */
export interface ImageProgram {
  /** The image as in a manifest; `*` at the end stands for any rest, such as a tag. */
  readonly image: string;
  /** Program and first arguments, as an image's entry point. */
  readonly entrypoint: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Everything one kubelet process is told, as the JSON file that its only argument names. */
export interface KubeletConfig {
  readonly clusterName: string;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly podCidr: string;
  readonly dnsAddress: string;
  readonly kubernetesVersion: string;
  readonly access: KubeAccess;
  /** Where pods find the API server in a cluster without kube-proxy; absent: at the ClusterIP of `kubernetes`. */
  readonly directApiServer?: { readonly host: string; readonly port: string };
  /** The node's own directory: pods, logs, host paths. */
  readonly directory: string;
  /** Hidden from containers: every cluster's keys, and the names of other pods' namespaces. */
  readonly hiddenDirectories: readonly string[];
  /** The start of the names of pods' network namespaces. */
  readonly podNamespacePrefix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly images: readonly ImageProgram[];
  /** Directories that containers need and that are not on the root file system. */
  readonly bindDirectories: readonly string[];
}

/** The program of an image, or undefined where the testbed has none. A longer pattern wins over a shorter one. */
export function findImage(images: readonly ImageProgram[], image: string): ImageProgram | undefined {
  return images
    .filter((candidate) => (candidate.image.endsWith('*') ? image.startsWith(candidate.image.slice(0, -1)) : image === candidate.image))
    .sort((a, b) => b.image.length - a.image.length)[0];
}
