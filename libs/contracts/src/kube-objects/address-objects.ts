import { z } from 'zod';

import { ADDRESS_FINALIZER, ADDRESS_MANAGER, GATEWAY_GROUP, GATEWAY_RESOURCE, type IpAddress, type NewIpAddress, type ServiceCidr } from '#domain/addresses';

import { conditions, labels, listOf, meta, objectParser, optional, orElse, text } from './parse-object.js';

const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
const IP_FAMILY = 'ipaddress.kubernetes.io/ip-family';

const serviceCidr: z.ZodType<ServiceCidr> = z
  .object({ metadata: meta, spec: z.object({ cidrs: listOf(z.string()) }), status: orElse(z.object({ conditions }), { conditions: [] }) })
  .transform(({ metadata, spec, status }) => ({
    name: metadata.name,
    cidrs: spec.cidrs,
    isReady: status.conditions.some(({ type, status: truth }) => type === 'Ready' && truth === 'True'),
    isDeleting: metadata.isDeleting,
    hasFinalizer: metadata.finalizers.includes(ADDRESS_FINALIZER),
  }));

const ipAddress: z.ZodType<IpAddress> = z
  .object({
    metadata: z.object({ name: z.string().min(1), uid: text, labels }),
    spec: z.object({ parentRef: optional(z.object({ group: text, resource: text, namespace: text, name: text })) }),
  })
  .transform(({ metadata, spec }) => ({ name: metadata.name, uid: metadata.uid, managedBy: metadata.labels[MANAGED_BY] ?? '', parent: spec.parentRef }));

/** Parses a ServiceCIDR. */
export const parseServiceCidr = objectParser('ServiceCIDR', serviceCidr);
/** Parses an IPAddress. */
export const parseIpAddress = objectParser('IPAddress', ipAddress);

/** An IPAddress object as Kubernetes stores it. */
export interface IpAddressManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The IPAddress object that claims an address for a Gateway: created, never applied, so that the name is an atomic claim (R3, R4). */
export const ipAddressManifest = ({ address, family, gateway }: NewIpAddress): IpAddressManifest => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IPAddress',
  metadata: { name: address, labels: { [MANAGED_BY]: ADDRESS_MANAGER, [IP_FAMILY]: family } },
  spec: { parentRef: { group: GATEWAY_GROUP, resource: GATEWAY_RESOURCE, namespace: gateway.namespace, name: gateway.name } },
});
