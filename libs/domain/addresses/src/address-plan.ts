import type { NamespacedName, Problem } from '#domain/fleet';

import type { AddressClaim, IpAddress, ServiceCidr } from './address-claim.js';

/** Everything that decides about addresses. All lists must come from sources that have finished their first list (C74). */
export interface AddressInput {
  readonly claims: readonly AddressClaim[];
  readonly serviceCidrs: readonly ServiceCidr[];
  readonly ipAddresses: readonly IpAddress[];
  /** ClusterIPs of Services, and who holds them: the API server gives a Service its address even without an IPAddress of its own. */
  readonly serviceAddresses: ReadonlyMap<string, NamespacedName>;
  /** Addresses that turned out to be taken a moment ago (AlreadyExists), before the watch has told of their owner. */
  readonly alsoTaken: ReadonlySet<string>;
  /** Addresses that some node still leads somewhere: not given back until no node does. */
  readonly stillProgrammed: ReadonlySet<string>;
  /** Numbers in [0, 1), one for each address to choose. */
  readonly random: () => number;
}

/** What to do about addresses, in this order: finalizers on, create, remove, finalizers off. */
export interface AddressPlan {
  /** By `namespace/name`, for every claim. */
  readonly assignments: ReadonlyMap<string, AddressAssignment>;
  readonly addFinalizers: readonly NamespacedName[];
  readonly create: readonly NewIpAddress[];
  readonly remove: readonly OldIpAddress[];
  readonly removeFinalizers: readonly NamespacedName[];
  /** Names of ServiceCIDRs that get the finalizer, since they hold addresses of ours (R5). */
  readonly protectCidrs: readonly string[];
  /** Names of ServiceCIDRs that lose it. */
  readonly unprotectCidrs: readonly string[];
  /** ServiceCIDRs that somebody deletes while they hold addresses of ours, and Gateways for which a family has no address left. */
  readonly problems: readonly Problem[];
}

/** How a Gateway stands with its addresses. */
export interface AddressAssignment {
  /** Canonical addresses that it holds: an IPAddress of ours names it. In the order of its wishes, of the cluster's first family first. */
  readonly held: readonly string[];
  /** Wishes that no address can meet, and why. */
  readonly unmet: readonly UnmetWish[];
}

/** Why a wish is not met: `pending` is being created, `exhausted` has no free address left, the others need a person. */
export interface UnmetWish {
  readonly value: string;
  readonly cause: 'pending' | 'exhausted' | 'malformed' | 'impossible' | 'outside' | 'reserved' | 'taken';
  /** The Gateway serves all the same: it asked for any address, and has one of another family. */
  readonly isOptional: boolean;
  readonly message: string;
}

/** An IPAddress to create, by which the address is claimed atomically. */
export interface NewIpAddress {
  readonly address: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly gateway: NamespacedName;
}

/** An IPAddress to remove: exactly this one, by uid. */
export interface OldIpAddress {
  readonly name: string;
  readonly uid: string;
}
