/** Names of the programs that the testbed and its neighbours can ask for. */
export type BinaryName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kube-proxy' | 'coredns' | 'helm' | 'kubectl';

/** The programs that a testbed with nodes needs, in the order in which they are cheapest to build. */
export const TESTBED_BINARIES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'coredns'] as const satisfies readonly BinaryName[];

/** Where a released file is and how its checksum is published. */
export interface ReleaseFile {
  readonly url: string;
  readonly checksumUrl: string;
  /** The program's path inside a .tar.gz; absent where the file is the program. */
  readonly member?: string;
}

/** How Go builds a program from its modules. */
export interface GoBuild {
  readonly module: string;
  readonly version: string;
  readonly packagePath: string;
  readonly ldflags: string;
  /** What a build takes on two cores in the order of TESTBED_BINARIES. Each later one of Kubernetes reuses what the first compiled. */
  readonly typicalSeconds: number;
}

/** One program: its version and the ways to get it. */
export interface BinaryRecipe {
  readonly name: BinaryName;
  readonly version: string;
  readonly release: ReleaseFile;
  readonly build: GoBuild;
}

/** The Kubernetes version of control planes and nodes. */
export const KUBERNETES_VERSION = 'v1.37.2';

const KUBERNETES_SECONDS: Readonly<Record<string, number>> = { 'kube-apiserver': 400, 'kube-controller-manager': 155, 'kube-scheduler': 15, 'kube-proxy': 25, kubectl: 60 };

/** The recipe of a program for a CPU as Go and the release pages call it (`amd64`, `arm64`). */
export function binaryRecipe(name: BinaryName, arch: string): BinaryRecipe {
  switch (name) {
    case 'etcd':
      return etcdRecipe(arch);
    case 'coredns':
      return corednsRecipe(arch);
    case 'helm':
      return helmRecipe(arch);
    case 'kube-apiserver':
    case 'kube-controller-manager':
    case 'kube-scheduler':
    case 'kube-proxy':
    case 'kubectl':
      return kubernetesRecipe(name, arch);
    default:
      return name satisfies never;
  }
}

function kubernetesRecipe(name: BinaryName, arch: string): BinaryRecipe {
  const url = `https://dl.k8s.io/release/${KUBERNETES_VERSION}/bin/linux/${arch}/${name}`;
  return {
    name,
    version: KUBERNETES_VERSION,
    release: { url, checksumUrl: `${url}.sha256` },
    build: {
      module: 'k8s.io/kubernetes',
      version: KUBERNETES_VERSION,
      packagePath: `k8s.io/kubernetes/cmd/${name}`,
      // Without it a server calls itself v0.0.0-master, and clients that check versions object.
      ldflags: `-s -w -X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`,
      typicalSeconds: KUBERNETES_SECONDS[name] ?? 120,
    },
  };
}

function etcdRecipe(arch: string): BinaryRecipe {
  const version = 'v3.7.3';
  const base = `https://github.com/etcd-io/etcd/releases/download/${version}`;
  const folder = `etcd-${version}-linux-${arch}`;
  return {
    name: 'etcd',
    version,
    release: { url: `${base}/${folder}.tar.gz`, checksumUrl: `${base}/SHA256SUMS`, member: `${folder}/etcd` },
    build: { module: 'go.etcd.io/etcd/server/v3', version, packagePath: 'go.etcd.io/etcd/server/v3', ldflags: '-s -w', typicalSeconds: 65 },
  };
}

function corednsRecipe(arch: string): BinaryRecipe {
  const version = 'v1.15.0';
  const url = `https://github.com/coredns/coredns/releases/download/${version}/coredns_${version.slice(1)}_linux_${arch}.tgz`;
  return {
    name: 'coredns',
    version,
    release: { url, checksumUrl: `${url}.sha256`, member: 'coredns' },
    build: { module: 'github.com/coredns/coredns', version, packagePath: 'github.com/coredns/coredns', ldflags: '-s -w', typicalSeconds: 210 },
  };
}

function helmRecipe(arch: string): BinaryRecipe {
  const version = 'v3.22.0';
  const url = `https://get.helm.sh/helm-${version}-linux-${arch}.tar.gz`;
  return {
    name: 'helm',
    version,
    release: { url, checksumUrl: `${url}.sha256sum`, member: `linux-${arch}/helm` },
    build: { module: 'helm.sh/helm/v3', version, packagePath: 'helm.sh/helm/v3/cmd/helm', ldflags: `-s -w -X helm.sh/helm/v3/internal/version.version=${version}`, typicalSeconds: 80 },
  };
}
