import { ipFamily } from '#domain/addresses';
import { byKey, type MemberReach } from '#domain/fleet';

import type { NodeObject } from './local-objects.js';

const PROBED_NODES_MAX = 3;

/** The node agents of a cluster. */
export interface NodeAgents {
  /** Names of the Ready nodes that run one. */
  readonly nodes: ReadonlySet<string>;
  /** Port on which they take path probes; 0 where that is not known. */
  readonly port: number;
}

/**
 * How other members reach this cluster, from its nodes. Gateways are nodes with the label `spillway.dev/gateway`; of these the
 * ones whose agent is known to work, or all where that is known of none, since a cluster that is told of too many gateways is
 * reached and one that is told of none is not. Calls leave from every node.
 */
export function memberReach(nodes: readonly NodeObject[], agents: NodeAgents): MemberReach {
  const labelled = nodes.filter((node) => node.isGateway);
  const working = labelled.filter((node) => agents.nodes.has(node.name));
  return {
    gateways: distinct((working.length > 0 ? working : labelled).flatMap(gatewayAddresses)),
    egress: distinct(nodes.flatMap(egressAddresses)),
    probes: distinct(spreadOverZones(nodes.filter((node) => agents.nodes.has(node.name))).flatMap(probeAddress)).slice(0, PROBED_NODES_MAX),
    probePort: agents.port,
  };
}

const gatewayAddresses = ({ gatewayAddresses: given, internalIps }: NodeObject): readonly string[] => (given.length > 0 ? given : internalIps);
const egressAddresses = ({ egressAddresses: given, internalIps }: NodeObject): readonly string[] => (given.length > 0 ? given : internalIps);
const probeAddress = ({ internalIps }: NodeObject): string | readonly never[] => internalIps.find((address) => ipFamily(address) === 'IPv4') ?? internalIps[0] ?? [];
const distinct = (addresses: readonly string[]): readonly string[] => [...new Set(addresses)].sort();

// One node of each zone first, so that the loss of one zone is no loss of all probes.
function spreadOverZones(nodes: readonly NodeObject[]): readonly NodeObject[] {
  const byName = [...nodes].sort(byKey((node) => node.name));
  const firsts = [...new Map([...byName].reverse().map((node) => [node.zone, node])).values()].sort(byKey((node) => node.name));
  return [...firsts, ...byName.filter((node) => !firsts.includes(node))].slice(0, PROBED_NODES_MAX);
}
