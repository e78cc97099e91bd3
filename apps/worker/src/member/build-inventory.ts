import { byKey } from '#domain/fleet';
import type { AcceleratorInventory, ClusterInventory, KubeObject } from '#ports';

interface NodeFields {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly kubeProxyVersion?: string };
  };
}

// Where vendors' device plugins and labellers put what and how many.
const ACCELERATORS: readonly { readonly resource: RegExp; readonly productLabel: string }[] = [
  { resource: /^nvidia\.com\/(gpu|mig-.+)$/, productLabel: 'nvidia.com/gpu.product' },
  { resource: /^amd\.com\/gpu$/, productLabel: 'amd.com/gpu.product-name' },
  { resource: /^gpu\.intel\.com\/(i915|xe)$/, productLabel: 'gpu.intel.com/product' },
  { resource: /^google\.com\/tpu$/, productLabel: 'cloud.google.com/gke-tpu-accelerator' },
];

/** What a member's nodes offer, summed up. */
export function buildInventory(nodes: readonly KubeObject[], facts: Readonly<Record<string, unknown>>, nowMs: number): ClusterInventory {
  const read = nodes as readonly (KubeObject & NodeFields)[];
  return {
    observedAtMs: nowMs,
    nodeCount: read.length,
    readyNodeCount: read.filter((node) => node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true).length,
    accelerators: sumAccelerators(read),
    facts: {
      ...facts,
      kubeletVersions: countBy(read.map((node) => node.status?.nodeInfo?.kubeletVersion ?? '')),
      kubeProxyVersions: countBy(read.map((node) => node.status?.nodeInfo?.kubeProxyVersion ?? '')),
    },
  };
}

function sumAccelerators(nodes: readonly NodeFields[]): readonly AcceleratorInventory[] {
  const sums = new Map<string, AcceleratorInventory>();
  for (const node of nodes) {
    for (const [product, allocatable] of nodeAccelerators(node)) {
      const before = sums.get(product) ?? { product, nodeCount: 0, allocatable: 0 };
      sums.set(product, { product, nodeCount: before.nodeCount + 1, allocatable: before.allocatable + allocatable });
    }
  }
  return [...sums.values()].sort(byKey(({ product }) => product));
}

function nodeAccelerators(node: NodeFields): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [resource, quantity] of Object.entries(node.status?.allocatable ?? {})) {
    const vendor = ACCELERATORS.find((candidate) => candidate.resource.test(resource));
    const count = Number(quantity);
    if (vendor === undefined || !Number.isInteger(count) || count <= 0) continue;
    const product = node.metadata.labels?.[vendor.productLabel] ?? resource;
    // A slice of a device is another product than the whole.
    const slice = /^nvidia\.com\/(mig-.+)$/.exec(resource)?.[1];
    const name = slice === undefined ? product : `${product} ${slice}`;
    found.set(name, (found.get(name) ?? 0) + count);
  }
  return found;
}

function countBy(values: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(byKey(([value]) => value)));
}
