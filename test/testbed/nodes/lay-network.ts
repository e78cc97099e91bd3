import { runCommand, runIp } from '../machine-room/run-command.js';

/** One cluster as the network sees it. */
export interface ClusterNetwork {
  readonly name: string;
  /** Members of one network reach each other's pods; members of different networks may use the same pod addresses. */
  readonly network: string;
  readonly podCidr: string;
  /** The /24 of its hosts. */
  readonly hostCidr: string;
  readonly controlPlane: { readonly address: string; readonly namespace: string };
  readonly nodes: readonly { readonly address: string; readonly namespace: string; readonly podCidr: string }[];
}

const EGRESS_TABLE = 100;

/** What one host is told: routes and, for a node, which table its pods' packets to other hosts use; for a control plane, a ruleset. */
export interface HostRoutes {
  readonly namespace: string;
  readonly routes: readonly string[];
  readonly podRule?: string;
  readonly ruleset?: string;
}

/**
 * Plans every route. Hosts see all hosts of the room. Pods see the pods and hosts of their own network by address; to
 * anything else in the room they go through their cluster's control plane, which puts its own address in the place of
 * theirs, as a cloud's NAT gateway does. It sits there, not on the nodes, so that a node's nftables stay the node's own.
 */
export function planRoutes(clusters: readonly ClusterNetwork[], roomCidr: string): readonly HostRoutes[] {
  return clusters.flatMap((cluster) => {
    const peers = clusters.filter((other) => other.network === cluster.network);
    const podRoutes = peers.flatMap((peer) => peer.nodes);
    const nodes = cluster.nodes.map((node) => ({
      namespace: node.namespace,
      routes: [
        `route replace default via ${cluster.controlPlane.address}`,
        ...podRoutes.filter((other) => other.namespace !== node.namespace).map((other) => `route replace ${other.podCidr} via ${other.address}`),
        ...peers.map((peer) => `route replace ${peer.hostCidr} dev eth0 scope link table ${EGRESS_TABLE}`),
        `route replace default via ${cluster.controlPlane.address} table ${EGRESS_TABLE}`,
      ],
      podRule: `rule add pref 100 from ${node.podCidr} to ${roomCidr} lookup ${EGRESS_TABLE}`,
    }));
    const plane = {
      namespace: cluster.controlPlane.namespace,
      routes: podRoutes.map((node) => `route replace ${node.podCidr} via ${node.address}`),
      ruleset: renderNatRuleset(cluster, peers),
    };
    return [plane, ...nodes];
  });
}

/** Applies planned routes of one host; safe to repeat. */
export async function applyRoutes(host: HostRoutes): Promise<void> {
  await runIp(host.routes, host.namespace);
  if (host.podRule !== undefined) await runIp([host.podRule], host.namespace).catch(unlessPresent);
  if (host.ruleset !== undefined) await runCommand('nsenter', [`--net=/run/netns/${host.namespace}`, 'nft', '-f', '-'], { input: host.ruleset });
}

function unlessPresent(error: unknown): void {
  if (!String(error).includes('File exists')) throw error;
}

function renderNatRuleset(cluster: ClusterNetwork, peers: readonly ClusterNetwork[]): string {
  const near = [...peers.map((peer) => peer.podCidr), ...peers.map((peer) => peer.hostCidr)].join(', ');
  return [
    'table ip testbed-egress',
    'delete table ip testbed-egress',
    'table ip testbed-egress {',
    '  chain postrouting {',
    '    type nat hook postrouting priority srcnat;',
    `    ip saddr ${cluster.podCidr} ip daddr != { ${near} } masquerade`,
    '  }',
    '}',
    '',
  ].join('\n');
}
