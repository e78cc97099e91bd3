import type { MemberState, Path } from '#domain/fleet';

/** How a consumer reaches a provider, or the sentence that says why it cannot. */
export interface PlannedPath {
  readonly path: Path;
  readonly refusal?: string;
}

/**
 * The path between two members, chosen for each pair (R39): direct within one network, else through the provider's gateway
 * nodes. Pods of another network are never called by their own addresses, which may be those of pods nearby.
 *
 * This is the one place that says so. Where no path leads, the provider is left out of that consumer's import, with the
 * refusal's sentence.
 */
export function planPath({ cluster: consumer, reach: from }: MemberState, { cluster: provider, reach: to }: MemberState): PlannedPath {
  if (consumer.network === provider.network) return { path: 'direct' };
  const networks = `Cluster "${provider.id}" is on network "${provider.network}" and cluster "${consumer.id}" on "${consumer.network}"`;
  if (to === undefined || to.gateways.length === 0) {
    return refused(`${networks}, and "${provider.id}" has no gateway; its endpoints are left out. Label nodes of "${provider.id}" with spillway.dev/gateway=true, or give both clusters the same network if their pods reach each other.`);
  }
  if (from === undefined || from.egress.length === 0) {
    return refused(`${networks}, and it is not known from which addresses "${consumer.id}" calls, so the gateway of "${provider.id}" cannot let it in; upgrade the spoke of "${consumer.id}".`);
  }
  return { path: 'gateway' };
}

const refused = (refusal: string): PlannedPath => ({ path: 'gateway', refusal });
