import { isRfc1123Label, type NamespacedName } from '#domain/fleet';

/** The controllerName by which a GatewayClass is ours (R1). */
export const CONTROLLER_NAME = 'spillway.dev/cluster-ip';
/** API group of Gateway, its routes and grants. */
export const GATEWAY_API_GROUP = 'gateway.networking.k8s.io';
/** API group of CompositeBackend and EndpointSelector. */
export const SPILLWAY_GROUP = 'spillway.dev';

/** The routability of every address that we give (GEP-5093): it comes from the service range. */
export const CLUSTER_ROUTABILITY = 'Cluster';

const DNS_NAME_LENGTH_MAX = 253;

/** API group of Gateway API's experiments, among them the prototype's XEndpointSelector. */
export const EXPERIMENTAL_GROUP = 'gateway.networking.x-k8s.io';
/** API group of the Multi-Cluster Services API. */
export const MCS_GROUP = 'multicluster.x-k8s.io';

/** The key `namespace/name` by which maps of this lib are read. */
export const objectKey = ({ namespace, name }: NamespacedName): string => `${namespace}/${name}`;

/** The DNS names of a Gateway: one, or none where its name cannot stand in DNS (a label of more than 63 characters). */
export function gatewayDnsNames({ namespace, name }: NamespacedName, clusterDomain: string): readonly string[] {
  const dnsName = `${name}.${namespace}.gw.${clusterDomain}`;
  return dnsName.length <= DNS_NAME_LENGTH_MAX && name.split('.').every(isRfc1123Label) ? [dnsName] : [];
}

/** The DNS names of a ServiceImport (DNS specification 1.0.0 of the Multi-Cluster Services API); its zone is fixed. */
export const importDnsNames = ({ namespace, name }: NamespacedName): readonly string[] => [`${name}.${namespace}.svc.clusterset.local`];
