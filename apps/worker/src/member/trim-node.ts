import { plainText } from '#domain/fleet';
import type { KubeObject } from '#ports';

/** What an inventory reads of a node. */
export interface TrimmedNode {
  readonly isReady: boolean;
  readonly kubeletVersion: string;
  readonly kubeProxyVersion: string;
  /** Allocatable accelerators by product. */
  readonly accelerators: readonly (readonly [product: string, count: number])[];
}

// Where vendors' device plugins and labellers put what and how many.
const ACCELERATORS: readonly { readonly resource: RegExp; readonly productLabel: string }[] = [
  { resource: /^nvidia\.com\/(gpu|mig-.+)$/, productLabel: 'nvidia.com/gpu.product' },
  { resource: /^amd\.com\/gpu$/, productLabel: 'amd.com/gpu.product-name' },
  { resource: /^gpu\.intel\.com\/(i915|xe)$/, productLabel: 'gpu.intel.com/product' },
  { resource: /^google\.com\/tpu$/, productLabel: 'cloud.google.com/gke-tpu-accelerator' },
];

/** Longest version or product of a node that is kept. */
const TEXT_LENGTH_MAX = 128;
/** Most products of one node, and most devices of one product, that are believed. */
const PRODUCTS_MAX = 32;
const DEVICES_MAX = 10_000;

/** Reads a node as any server may send it: nothing of its shape is taken for granted, and nothing of it can grow without bound. */
export function trimNode(node: KubeObject): TrimmedNode {
  const status = fieldsOf(node['status']);
  const info = fieldsOf(status['nodeInfo']);
  return {
    isReady: listOf(status['conditions']).some((entry) => fieldsOf(entry)['type'] === 'Ready' && fieldsOf(entry)['status'] === 'True'),
    kubeletVersion: textOf(info['kubeletVersion']),
    kubeProxyVersion: textOf(info['kubeProxyVersion']),
    accelerators: acceleratorsOf(fieldsOf(status['allocatable']), fieldsOf(fieldsOf(node.metadata)['labels'])),
  };
}

function acceleratorsOf(allocatable: Fields, labels: Fields): TrimmedNode['accelerators'] {
  const found = new Map<string, number>();
  for (const [resource, quantity] of Object.entries(allocatable)) {
    const vendor = ACCELERATORS.find((candidate) => candidate.resource.test(resource));
    const count = Number(quantity);
    if (vendor === undefined || !Number.isInteger(count) || count <= 0 || found.size >= PRODUCTS_MAX) continue;
    const product = textOf(labels[vendor.productLabel]);
    // A slice of a device is another product than the whole.
    const slice = /^nvidia\.com\/(mig-.+)$/.exec(resource)?.[1];
    const name = textOf(`${product === '' ? resource : product}${slice === undefined ? '' : ` ${slice}`}`);
    found.set(name, Math.min((found.get(name) ?? 0) + count, DEVICES_MAX));
  }
  return [...found];
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? plainText(value, TEXT_LENGTH_MAX) : '');
