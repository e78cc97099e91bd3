import type { NamespacedName } from '#domain/fleet';

/** What a Gateway wants: a certain address, or any one of each family that the service range has. */
export type AddressWish =
  | { readonly kind: 'dynamic' }
  | { readonly kind: 'static'; readonly value: string }
  /** What no address of the service range can be. */
  | { readonly kind: 'impossible'; readonly value: string; readonly message: string };

/**
 * What to do about a Gateway's addresses. `claim`: see to it that it holds what it wishes. `hold`: keep what it holds, take
 * nothing new (its spec is broken just now, and its callers must not pay for that). `release`: give everything back.
 */
export type ClaimMode = 'claim' | 'hold' | 'release';

/** A Gateway as the address plan sees it. */
export interface AddressClaim extends NamespacedName {
  readonly createdAtMs: number;
  readonly mode: ClaimMode;
  readonly wishes: readonly AddressWish[];
  /** Addresses of its status: what callers know it by, and so what it gets back where that is possible. */
  readonly known: readonly string[];
  /** Whether it carries {@link ADDRESS_FINALIZER}. */
  readonly hasFinalizer: boolean;
}

/** A ServiceCIDR, trimmed. */
export interface ServiceCidr {
  readonly name: string;
  readonly cidrs: readonly string[];
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
}

/** An IPAddress object, trimmed. Its name is the canonical address. */
export interface IpAddress {
  readonly name: string;
  readonly uid: string;
  /** Value of the label `ipaddress.kubernetes.io/managed-by`; empty where it lacks. */
  readonly managedBy: string;
  readonly parent: IpAddressParent | undefined;
}

/** Whom an IPAddress belongs to. */
export interface IpAddressParent extends NamespacedName {
  readonly group: string;
  readonly resource: string;
}

/** The finalizer by which addresses are given back before a Gateway goes, and by which a ServiceCIDR stays while it holds ours (R5, R6). */
export const ADDRESS_FINALIZER = 'spillway.dev/address-protection';
/** Our value of the label `ipaddress.kubernetes.io/managed-by` (R4). */
export const ADDRESS_MANAGER = 'spillway.dev';
/** API group of Gateways. */
export const GATEWAY_GROUP = 'gateway.networking.k8s.io';
/** Resource name of Gateways. */
export const GATEWAY_RESOURCE = 'gateways';
