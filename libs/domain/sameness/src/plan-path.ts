import type { MemberCluster, Path } from '#domain/fleet';

/** How a consumer reaches a provider, or the sentence that says why it cannot. */
export interface PlannedPath {
  readonly path: Path;
  readonly refusal?: string;
}

/**
 * The path between two members: direct within one network, else the provider's gateway.
 *
 * This is the one place that says so: no member reports a gateway yet, so every pair on different networks is refused,
 * and the provider is left out of that consumer's import with the refusal's sentence.
 */
export function planPath(consumer: MemberCluster, provider: MemberCluster): PlannedPath {
  if (consumer.network === provider.network) return { path: 'direct' };
  return {
    path: 'gateway',
    refusal: `Cluster "${provider.id}" is on network "${provider.network}" and cluster "${consumer.id}" on "${consumer.network}", and no gateway path leads there; its endpoints are left out. Give both clusters the same network if their pods reach each other.`,
  };
}
