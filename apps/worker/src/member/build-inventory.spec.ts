import { describe, expect, it } from '@jest/globals';

import type { KubeObject } from '#ports';

import { buildInventory } from './build-inventory.js';

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
});
