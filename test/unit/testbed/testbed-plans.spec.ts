import { describe, expect, it } from '@jest/globals';

import { binaryRecipe } from '../../testbed/binaries/binary-catalog.js';
import { renderGoMod } from '../../testbed/binaries/build-with-go.js';
import { checksumIn } from '../../testbed/binaries/download-release.js';
import { clusterAddresses, nodePodCidr, nthAddress, roomAddresses } from '../../testbed/machine-room/address-plan.js';
import { planRoutes, type ClusterNetwork } from '../../testbed/nodes/lay-network.js';
import { planClusters } from '../../testbed/testbed-options.js';

describe('addresses of a machine room', () => {
  it('gives each slot a block of its own inside the range for test benches', () => {
    expect(roomAddresses(0)).toEqual({ cidr: '198.18.0.0/19', hub: '198.18.0.1' });
    expect(roomAddresses(7)).toEqual({ cidr: '198.18.224.0/19', hub: '198.18.224.1' });
    expect(roomAddresses(15)).toEqual({ cidr: '198.19.224.0/19', hub: '198.19.224.1' });
  });

  it('keeps clusters and nodes of a slot apart', () => {
    const second = clusterAddresses(8, 1);
    expect([second.cidr, second.controlPlane, second.node(0), second.node(1)]).toEqual(['198.19.2.0/24', '198.19.2.1', '198.19.2.11', '198.19.2.12']);
  });

  it('cuts node ranges out of a cluster range and refuses one that it cannot cut', () => {
    expect(nodePodCidr('10.7.0.0/16', 3)).toBe('10.7.3.0/24');
    expect(() => nodePodCidr('10.7.0.0/20', 0)).toThrow('is not a /16');
    expect(nthAddress('10.96.0.0/16', 10)).toBe('10.96.0.10');
  });
});

describe('planClusters', () => {
  it('fills in what is not said', () => {
    const [west, east] = planClusters([{ name: 'west' }, { name: 'east', nodes: [{ gpu: { product: 'L4', count: 2 } }, { labels: { zone: 'b' } }] }]);
    expect(west).toEqual({ name: 'west', network: 'default', podCidr: '10.1.0.0/16', serviceCidr: '10.96.0.0/16', nodes: [{ name: 'west-1', podCidr: '10.1.0.0/24', labels: {}, capacity: {} }] });
    expect(east?.nodes).toEqual([
      { name: 'east-1', podCidr: '10.2.0.0/24', labels: { 'nvidia.com/gpu.present': 'true', 'nvidia.com/gpu.product': 'L4', 'nvidia.com/gpu.count': '2' }, capacity: { 'nvidia.com/gpu': '2' } },
      { name: 'east-2', podCidr: '10.2.1.0/24', labels: { zone: 'b' }, capacity: {} },
    ]);
  });

  it('allows equal pod ranges on different networks only', () => {
    const podCidr = '10.1.0.0/16';
    expect(planClusters([{ name: 'a', network: 'x', podCidr }, { name: 'b', network: 'y', podCidr }])).toHaveLength(2);
    expect(() => planClusters([{ name: 'a', podCidr }, { name: 'b', podCidr }])).toThrow('another cluster on network default has the pod range 10.1.0.0/16');
  });

  it('names every contradiction at once', () => {
    expect(() => planClusters([{ name: 'A_b' }, { name: 'c' }, { name: 'c' }])).toThrow(/A_b: a name has[^]*c: two clusters have this name/);
  });
});

describe('planRoutes', () => {
  const cluster = (name: string, network: string, third: number): ClusterNetwork => ({
    name,
    network,
    podCidr: `10.${third}.0.0/16`,
    hostCidr: `198.18.${third}.0/24`,
    controlPlane: { address: `198.18.${third}.1`, namespace: `${name}-cp` },
    nodes: [{ address: `198.18.${third}.11`, namespace: `${name}-1`, podCidr: `10.${third}.0.0/24` }],
  });
  const routes = planRoutes([cluster('a', 'x', 1), cluster('b', 'x', 2), cluster('c', 'y', 3)], '198.18.0.0/19');
  const of = (namespace: string) => routes.find((host) => host.namespace === namespace);

  it('leads from a node to the pods of its own network and to no others', () => {
    expect(of('a-1')?.routes).toContain('route replace 10.2.0.0/24 via 198.18.2.11');
    expect(of('a-1')?.routes.join('\n')).not.toContain('10.3.');
    expect(of('c-1')?.routes.join('\n')).not.toContain('10.1.');
  });

  it('leads pods to hosts of other networks through their control plane, which takes their place there', () => {
    expect(of('a-1')?.podRule).toBe('rule add pref 100 from 10.1.0.0/24 to 198.18.0.0/19 lookup 100');
    expect(of('a-1')?.routes).toContain('route replace default via 198.18.1.1 table 100');
    expect(of('a-cp')?.ruleset).toContain('ip saddr 10.1.0.0/16 ip daddr != { 10.1.0.0/16, 10.2.0.0/16, 198.18.1.0/24, 198.18.2.0/24 } masquerade');
  });
});

describe('programs', () => {
  it('finds a digest in a bare checksum file and in a list', () => {
    const digest = 'a'.repeat(64);
    expect(checksumIn(`${digest}\n`, 'https://x.test/kube-proxy')).toBe(digest);
    expect(checksumIn(`${'b'.repeat(64)}  other.tar.gz\n${digest}  etcd.tar.gz\n`, 'https://x.test/etcd.tar.gz')).toBe(digest);
    expect(() => checksumIn('<html>', 'https://x.test/helm')).toThrow('has no SHA-256 for helm');
  });

  it('builds Kubernetes outside of its repository: its parts are replaced by their published versions', () => {
    const { build } = binaryRecipe('kube-scheduler', 'amd64');
    const source = 'module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/klog/v2 v2.140.0\n\tk8s.io/client-go v0.0.0 // indirect\n)\n\nreplace k8s.io/api => ./staging/src/k8s.io/api\n';
    expect(renderGoMod(build, source).split('\n').filter((line) => line !== '')).toEqual([
      'module spillway.dev/testbed-binaries',
      'go 1.26.0',
      'require k8s.io/kubernetes v1.37.2',
      'tool k8s.io/kubernetes/cmd/kube-scheduler',
      'replace k8s.io/api => k8s.io/api v0.37.2',
      'replace k8s.io/client-go => k8s.io/client-go v0.37.2',
    ]);
  });
});
