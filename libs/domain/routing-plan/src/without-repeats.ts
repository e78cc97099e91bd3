/**
 * Clusters of one network whose pod ranges overlap may name one address twice, by mistake. It is one place: it stays with whom it
 * is named first for. Clients refuse a backend as a whole where an address is in it twice.
 */
export function withoutRepeats<E, P extends { readonly endpoints: readonly E[] }>(providers: readonly P[], keyOf: (endpoint: E) => string): readonly P[] {
  const seen = new Set<string>();
  return providers.map((provider) => {
    const own = provider.endpoints.filter((endpoint) => !seen.has(keyOf(endpoint)));
    for (const endpoint of own) seen.add(keyOf(endpoint));
    return own.length === provider.endpoints.length ? provider : { ...provider, endpoints: own };
  });
}
