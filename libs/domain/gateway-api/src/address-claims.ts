import { ADDRESS_FINALIZER, type AddressClaim, type AddressWish, type ClaimMode } from '#domain/addresses';

import type { Verdict } from './gateway-decisions.js';
import { CLUSTER_ROUTABILITY } from './names.js';
import type { GatewayAddress, GatewayObject } from './objects.js';

/** How a Gateway stands with our classes: `ours` with its verdict, or whether its class is known to be somebody else's. */
export type ClassStanding = { readonly kind: 'ours'; readonly accepted: Verdict } | { readonly kind: 'foreign' } | { readonly kind: 'missing' };

/** What planAddresses must know of a Gateway; undefined where the Gateway has nothing to do with us. */
export function addressClaim(gateway: GatewayObject, standing: ClassStanding): AddressClaim | undefined {
  const hasFinalizer = gateway.meta.finalizers.includes(ADDRESS_FINALIZER);
  if (standing.kind !== 'ours' && !hasFinalizer) return undefined;
  return {
    namespace: gateway.meta.namespace,
    name: gateway.meta.name,
    createdAtMs: gateway.meta.createdAtMs,
    mode: claimMode(gateway, standing),
    wishes: wishesOf(gateway),
    known: gateway.status.addresses.filter(({ type }) => type === 'IPAddress').map(({ value }) => value),
    hasFinalizer,
  };
}

function claimMode(gateway: GatewayObject, standing: ClassStanding): ClaimMode {
  if (gateway.meta.isDeleting || standing.kind === 'foreign') return 'release';
  // A class that is gone for a moment must not cost its Gateways the addresses that callers know.
  return standing.kind === 'ours' && standing.accepted.ok ? 'claim' : 'hold';
}

function wishesOf({ addresses }: GatewayObject): readonly AddressWish[] {
  const asked = addresses.filter(({ type }) => type === 'IPAddress');
  const possible = asked.filter(isOfTheCluster);
  const fixed: AddressWish[] = [...new Set(possible.map(({ value }) => value))].filter((value) => value !== '').map((value) => ({ kind: 'static', value }));
  const wantsAny = addresses.length === 0 || possible.some(({ value }) => value === '');
  return [...(wantsAny ? [{ kind: 'dynamic' } as const] : []), ...fixed, ...asked.filter((address) => !isOfTheCluster(address)).map(impossible)];
}

// GEP-5093: the service range is the cluster's own, and no other scope may be put in the place of the one that was asked for (R8).
const isOfTheCluster = ({ routability }: GatewayAddress): boolean => routability === undefined || routability === CLUSTER_ROUTABILITY;

const impossible = ({ value, routability = '' }: GatewayAddress): AddressWish => ({
  kind: 'impossible',
  value,
  message: `${value === '' ? 'An address' : `Address ${value}`} of routability ${routability} cannot be had: addresses of this class are reachable in the cluster alone (routability ${CLUSTER_ROUTABILITY}).`,
});
