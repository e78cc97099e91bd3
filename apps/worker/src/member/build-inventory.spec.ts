import { describe, expect, it } from '@jest/globals';

import type { ClusterInventory, KubeObject } from '#ports';

import { InventoryBuilder } from './build-inventory.js';

function buildInventory(nodes: readonly KubeObject[], facts: Readonly<Record<string, unknown>>, nowMs: number): ClusterInventory {
  const builder = new InventoryBuilder();
  for (const one of nodes) builder.add(one);
  return builder.build(facts, nowMs);
}

const node = (name: string, allocatable: Record<string, string>, labels: Record<string, string> = {}, ready = 'True'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
  status: { allocatable, conditions: [{ type: 'Ready', status: ready }], nodeInfo: { kubeletVersion: `v1.${name.length}` } },
});
const H100 = { 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' };

describe('buildInventory', () => {
  it('sums each accelerator product over all nodes, ready or not', () => {
    const inventory = buildInventory([node('a', { 'nvidia.com/gpu': '8' }, H100), node('b', { 'nvidia.com/gpu': '4' }, H100, 'False'), node('c', { cpu: '8' })], {}, 7);
    expect(inventory).toMatchObject({ observedAtMs: 7, nodeCount: 3, readyNodeCount: 2, accelerators: [{ product: 'NVIDIA-H100-80GB-HBM3', nodeCount: 2, allocatable: 12 }] });
  });
  it.each([
    { name: 'an unlabelled device goes by its resource name', nodes: [node('a', { 'nvidia.com/gpu': '1' })], want: ['nvidia.com/gpu 1'] },
    { name: 'a slice is another product than the whole', nodes: [node('a', { 'nvidia.com/gpu': '1', 'nvidia.com/mig-1g.10gb': '7' }, H100)], want: ['NVIDIA-H100-80GB-HBM3 1', 'NVIDIA-H100-80GB-HBM3 mig-1g.10gb 7'] },
    { name: 'other vendors have their own labels', nodes: [node('a', { 'amd.com/gpu': '2' }, { 'amd.com/gpu.product-name': 'MI300X' }), node('b', { 'google.com/tpu': '4' }, { 'cloud.google.com/gke-tpu-accelerator': 'tpu-v6e-slice' })], want: ['MI300X 2', 'tpu-v6e-slice 4'] },
    { name: 'a device of which none is allocatable does not count', nodes: [node('a', { 'nvidia.com/gpu': '0' }, H100)], want: [] },
  ])('$name', ({ nodes, want }) => {
    expect(buildInventory(nodes, {}, 0).accelerators.map(({ product, allocatable }) => `${product} ${allocatable}`)).toEqual(want);
  });
  it('counts kubelet versions, and survives a node that says nothing', () => {
    const inventory = buildInventory([node('aa', {}), node('bb', {}), node('ccc', {}), { apiVersion: 'v1', kind: 'Node', metadata: { name: 'd' } }], { serviceCidrs: [] }, 0);
    expect(inventory.facts).toEqual({ serviceCidrs: [], kubeletVersions: { 'v1.2': 2, 'v1.3': 1 }, kubeProxyVersions: {} });
  });
  it.each<{ readonly name: string; readonly status: unknown; readonly metadata?: unknown }>([
    { name: 'no status', status: null },
    { name: 'lists where objects belong', status: { conditions: {}, nodeInfo: [], allocatable: ['8'] } },
    { name: 'numbers where texts belong', status: { conditions: [null, 7], nodeInfo: { kubeletVersion: 7 }, allocatable: { 'nvidia.com/gpu': {} } } },
    { name: 'no metadata', status: {}, metadata: null },
    { name: 'more devices than a number holds', status: { allocatable: { 'nvidia.com/gpu': '1e400' } } },
  ])('a node with $name counts as a node and as nothing else', ({ status, metadata = { name: 'x' } }) => {
    const inventory = buildInventory([{ apiVersion: 'v1', kind: 'Node', metadata, status } as KubeObject], {}, 0);
    expect(inventory).toEqual({ observedAtMs: 0, nodeCount: 1, readyNodeCount: 0, accelerators: [], facts: { kubeletVersions: {}, kubeProxyVersions: {} } });
  });
  it('stays small and storable whatever a server says', () => {
    const nodes = Array.from({ length: 500 }, (_, n) => ({
      ...node(`n${n}`, { 'nvidia.com/gpu': '9'.repeat(300) }, { 'nvidia.com/gpu.product': `\0${n}`.padEnd(100_000, 'x') }),
      status: { allocatable: { 'nvidia.com/gpu': '9'.repeat(30) }, nodeInfo: { kubeletVersion: `v${n}\0`.padEnd(100_000, 'x') } },
    }));
    const inventory = buildInventory(nodes, {}, 0);
    const text = JSON.stringify(inventory);
    expect(text.length).toBeLessThan(32_768);
    expect(text).not.toContain('\\u0000');
    expect(inventory.nodeCount).toBe(500);
    expect(inventory.accelerators.every(({ allocatable }) => allocatable <= 2_147_483_647)).toBe(true);
  });
});
