/** The addresses of one run's machine room. Everything is inside one /19, and on one link. */
export interface RoomAddresses {
  /** All hosts of the run: API servers, nodes, the hub's side. */
  readonly cidr: string;
  /** The root network namespace's own address in the room: where hub and worker are reached from members. */
  readonly hub: string;
}

/** The hosts of one cluster: the control plane at .1, nodes from .11. */
export interface ClusterAddresses {
  readonly cidr: string;
  readonly controlPlane: string;
  node(index: number): string;
}

/** Clusters that fit in one room. */
export const CLUSTERS_MAX = 30;

/** Nodes that fit in one cluster: their pods' /24s must fit its /16. */
export const NODES_MAX = 200;

/** The room of a slot. */
export function roomAddresses(slot: number): RoomAddresses {
  return { cidr: `${blockAddress(slot, 0, 0)}/19`, hub: blockAddress(slot, 0, 1) };
}

/** The hosts of the cluster with this index (from 0). */
export function clusterAddresses(slot: number, clusterIndex: number): ClusterAddresses {
  const third = clusterIndex + 1;
  return {
    cidr: `${blockAddress(slot, third, 0)}/24`,
    controlPlane: blockAddress(slot, third, 1),
    node: (index) => blockAddress(slot, third, 11 + index),
  };
}

/** The n-th /24 of a /16 (`10.1.0.0/16`, 3 → `10.1.3.0/24`): a node's pod range. */
export function nodePodCidr(clusterPodCidr: string, nodeIndex: number): string {
  const match = /^(\d+\.\d+)\.0\.0\/16$/.exec(clusterPodCidr);
  if (match === null) throw new Error(`pod range ${clusterPodCidr} is not a /16 that ends in .0.0`);
  return `${match[1]}.${nodeIndex}.0/24`;
}

/** The n-th address of a range whose last byte is free to count in (`10.96.0.0/16`, 10 → `10.96.0.10`). */
export function nthAddress(cidr: string, n: number): string {
  const parts = (cidr.split('/')[0] ?? '').split('.').map(Number);
  return [...parts.slice(0, 3), (parts[3] ?? 0) + n].join('.');
}

function blockAddress(slot: number, third: number, last: number): string {
  const offset = slot * 32 + third;
  return `198.${18 + Math.floor(offset / 256)}.${offset % 256}.${last}`;
}
