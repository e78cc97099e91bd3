import type { ClusterId } from '#domain/fleet';
import { usableEndpoints, type PlannedBackend, type PlannedEndpoint, type PlannedProvider } from '#domain/routing-plan';

import { ownerNumber } from './names.js';

/**
 * How many units one random draw may take. A thousand million: an endpoint's share is off by at most three units
 * (one per level of the split), so a use of weight 1 beside 999,999 that is spread over 100 endpoints is still within
 * 30 % on each of them, where a modulus of 10,000 would leave 99 of them without any connection. It costs nothing:
 * the map holds one interval per endpoint whatever the modulus. Decimal, so that people read shares off `nft list`.
 */
export const SHARE_MODULUS = 1_000_000_000;

/** A weighted part of a listener: a backend, or undefined for a share that is refused. */
export interface WeightedPart {
  readonly weight: number;
  readonly backend: PlannedBackend | undefined;
}

/** Which of a provider's endpoints one node uses. */
export interface EndpointChoice {
  /** Whether a table can carry the endpoint at all. */
  readonly isCarried: (endpoint: PlannedEndpoint) => boolean;
  /** Those that the node prefers among its own cluster's usable ones. */
  readonly preferred: (endpoints: readonly PlannedEndpoint[], backend: PlannedBackend, clusterId: ClusterId) => readonly PlannedEndpoint[];
}

/** One provider's part of a listener: how many units, and the endpoints that share them. */
export interface ProviderUnits {
  readonly owner: number;
  readonly provider: PlannedProvider;
  readonly units: number;
  /** Never empty. */
  readonly endpoints: readonly PlannedEndpoint[];
}

/**
 * Splits the modulus over the parts by weight, and each part over its backend's providers by share, both by largest
 * remainder. Units of a part that nobody can serve are left out: they are refused, never handed to another part (R12). A
 * provider without a usable endpoint passes its units to the other providers of its own backend, as every xDS client does
 * with the same snapshot.
 */
export function splitUnits(parts: readonly WeightedPart[], choice: EndpointChoice): readonly ProviderUnits[] {
  const unitsPerPart = apportion(
    SHARE_MODULUS,
    parts.map((part) => part.weight),
  );
  return parts.flatMap((part, index) => (part.backend === undefined ? [] : splitBackend(part.backend, unitsPerPart[index] ?? 0, choice)));
}

function splitBackend(backend: PlannedBackend, units: number, choice: EndpointChoice): ProviderUnits[] {
  const serving = backend.providers
    .filter(({ shareBp }) => shareBp > 0)
    .map((provider) => {
      const usable = usableEndpoints(provider.endpoints.filter(choice.isCarried));
      return { provider, endpoints: choice.preferred(usable, backend, provider.clusterId) };
    })
    .filter(({ endpoints }) => endpoints.length > 0);
  const unitsPerProvider = apportion(
    units,
    serving.map(({ provider }) => provider.shareBp),
  );
  return serving
    .map(({ provider, endpoints }, index) => ({ owner: ownerNumber(backend.id, provider.clusterId), provider, endpoints, units: unitsPerProvider[index] ?? 0 }))
    .filter((part) => part.units > 0);
}

/** An endpoint and how many of the modulus's units lead to it; never 0. */
export interface EndpointUnits {
  readonly address: string;
  readonly port: number;
  readonly units: number;
}

/** Splits units evenly over endpoints; the first ones take what is left over. */
export function splitEvenly(endpoints: readonly PlannedEndpoint[], units: number): readonly EndpointUnits[] {
  const floor = Math.floor(units / endpoints.length);
  const oneMore = units % endpoints.length;
  return endpoints
    .map(({ address, port }, index) => ({ address, port, units: index < oneMore ? floor + 1 : floor }))
    .filter((endpoint) => endpoint.units > 0);
}

/**
 * Splits a whole number of units by integer weights: everyone gets the floor of the exact part, and the units left over
 * go to the largest remainders, the earlier one on a tie. Nobody of weight 0 gets any; no weights, nothing to split.
 * Exact as long as units × weight < 2^53, which weights up to 1,000,000 keep.
 */
export function apportion(units: number, weights: readonly number[]): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return weights.map(() => 0);
  const parts = weights.map((weight, index) => {
    const product = units * weight;
    return { index, floor: Math.floor(product / total), remainder: product % total };
  });
  const left = units - parts.reduce((sum, part) => sum + part.floor, 0);
  const first = [...parts].sort((a, b) => b.remainder - a.remainder || a.index - b.index).slice(0, left);
  const oneMore = new Set(first.map((part) => part.index));
  return parts.map((part) => (oneMore.has(part.index) ? part.floor + 1 : part.floor));
}
