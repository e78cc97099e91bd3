import type { ClusterId } from '#domain/fleet';
import type { PlannedBackend, PlannedEndpoint } from '#domain/routing-plan';

import type { NftFamily, NftRuleset, NftUnitMap } from './nft-ruleset.js';

/** What a table depends on beside the plan. */
export interface NftBuildOptions {
  /** Whose table it is; without it nothing is preferred, every endpoint may be here, and no gateway port is taken in. */
  readonly node?: NftNode;
  /** What the way to the kernel can say of affinity; `timed` where nothing is said. */
  readonly affinity?: NftAffinityWay;
  /** Families that the kernel can carry; both where nothing is said. */
  readonly families?: readonly NftFamily[];
  /** The ruleset in force: what did not change is taken from it, and remembered clients stay where they are. */
  readonly before?: NftRuleset;
  /** What the kernel holds of an earlier process's shares, for the same. */
  readonly shareMaps?: NftShareMaps;
}

/** A node, as endpoints name it. */
export interface NftNode {
  readonly name: string;
  /** Empty where unknown. */
  readonly zone: string;
  /** Whose node it is; undefined where that is not known: then no endpoint is preferred. */
  readonly clusterId: ClusterId | undefined;
}

/** `timed`: a client's unit is remembered for the time that its backend says. `hashed`: it is computed, and stays for ever. */
export type NftAffinityWay = 'timed' | 'hashed';

/** The maps of units of both families, by name. */
export type NftShareMaps = Readonly<Record<NftFamily, ReadonlyMap<string, NftUnitMap>>>;

/** Whether an endpoint may be a pod of the node, so that it can reach itself through an address of ours. */
export function mayBeHere(endpoint: PlannedEndpoint, clusterId: ClusterId, node: NftNode | undefined): boolean {
  if (node === undefined || endpoint.node === '') return true;
  return endpoint.node === node.name && (node.clusterId === undefined || node.clusterId === clusterId);
}

/**
 * The endpoints that a node prefers among the usable ones of one provider (KEP-3015): of its own node, else of its own zone,
 * else all. Only within its own cluster, and only within what that cluster serves: shares between clusters stay as planned.
 */
export function preferredEndpoints(endpoints: readonly PlannedEndpoint[], backend: Pick<PlannedBackend, 'trafficDistribution'>, clusterId: ClusterId, node: NftNode | undefined): readonly PlannedEndpoint[] {
  if (node === undefined || backend.trafficDistribution === 'None' || clusterId !== node.clusterId) return endpoints;
  const onNode = backend.trafficDistribution === 'PreferSameNode' ? endpoints.filter((endpoint) => endpoint.node === node.name) : [];
  if (onNode.length > 0) return onNode;
  const inZone = node.zone === '' ? [] : endpoints.filter((endpoint) => endpoint.zone === node.zone);
  return inZone.length > 0 ? inZone : endpoints;
}
