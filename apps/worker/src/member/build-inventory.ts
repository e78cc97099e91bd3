import { byKey } from '#domain/fleet';
import type { AcceleratorInventory, ClusterInventory, KubeObject } from '#ports';

import { trimNode, type TrimmedNode } from './trim-node.js';

/** Most distinct versions and products that an inventory names. */
const NAMES_MAX = 64;
/** Largest sum: what a GraphQL Int holds. */
const ALLOCATABLE_MAX = 2_147_483_647;
/** What is beyond them is counted under this name. */
const OTHERS = 'others';

/** What a member's nodes offer, summed up. */
export class InventoryBuilder {
  #nodeCount = 0;
  #readyNodeCount = 0;
  readonly #products = new Map<string, AcceleratorInventory>();
  readonly #kubeletVersions = new Map<string, number>();
  readonly #kubeProxyVersions = new Map<string, number>();

  /** Counts one node, and keeps nothing else of it. */
  add(node: KubeObject): void {
    const trimmed = trimNode(node);
    this.#nodeCount += 1;
    if (trimmed.isReady) this.#readyNodeCount += 1;
    count(this.#kubeletVersions, trimmed.kubeletVersion);
    count(this.#kubeProxyVersions, trimmed.kubeProxyVersion);
    this.#addAccelerators(trimmed);
  }

  build(facts: Readonly<Record<string, unknown>>, nowMs: number): ClusterInventory {
    return {
      observedAtMs: nowMs,
      nodeCount: this.#nodeCount,
      readyNodeCount: this.#readyNodeCount,
      accelerators: [...this.#products.values()].sort(byKey(({ product }) => product)),
      facts: { ...facts, kubeletVersions: recordOf(this.#kubeletVersions), kubeProxyVersions: recordOf(this.#kubeProxyVersions) },
    };
  }

  #addAccelerators({ accelerators }: TrimmedNode): void {
    for (const [name, allocatable] of accelerators) {
      const product = nameWithin(this.#products, name);
      const before = this.#products.get(product) ?? { product, nodeCount: 0, allocatable: 0 };
      this.#products.set(product, { product, nodeCount: before.nodeCount + 1, allocatable: Math.min(before.allocatable + allocatable, ALLOCATABLE_MAX) });
    }
  }
}

const nameWithin = (known: ReadonlyMap<string, unknown>, name: string): string => (known.has(name) || known.size < NAMES_MAX ? name : OTHERS);

function count(counts: Map<string, number>, value: string): void {
  if (value === '') return;
  const name = nameWithin(counts, value);
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

const recordOf = (counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> => Object.fromEntries([...counts].sort(byKey(([value]) => value)));
