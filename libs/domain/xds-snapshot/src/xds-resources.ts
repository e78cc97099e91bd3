/**
 * The xDS resources that one spoke serves, as plain data in Envoy's words: what its clusters (CDS) and cluster load
 * assignments (EDS) say, and nothing that is only encoding. Lists are sorted by name, so equal plans give equal snapshots.
 */
export interface XdsSnapshot {
  readonly clusters: readonly XdsCluster[];
  readonly loadAssignments: readonly XdsLoadAssignment[];
}

/** What every resource has: a name unique within its type, and a hash of its content. */
export interface XdsResource {
  readonly name: string;
  /** Digest of everything else in the resource: equal content has equal versions on every machine. */
  readonly version: string;
}

/**
 * An Envoy cluster: one planned backend (named by its PlannedBackendId), or `reject/<frontend key>`, which has
 * no endpoints and carries what of a frontend leads nowhere. The frontends that lead to it ride in its metadata.
 */
export interface XdsCluster extends XdsResource {
  /** Name of its load assignment; undefined for a cluster that has no endpoints and never will. */
  readonly edsServiceName: string | undefined;
  readonly metadata: XdsClusterMetadata;
}

/** Filter metadata under the key {@link FRONTENDS_METADATA_KEY}. */
export interface XdsClusterMetadata {
  /** Transport protocol of the planned backend; undefined for a reject cluster. */
  readonly protocol: 'TCP' | 'UDP' | undefined;
  readonly affinity: { readonly scope: 'endpoint' | 'cluster'; readonly timeoutSeconds: number } | undefined;
  readonly trafficDistribution: 'None' | 'PreferSameZone' | 'PreferSameNode';
  /** Sorted by their keys. */
  readonly frontends: readonly XdsFrontend[];
  /** Ports of this cluster's gateway nodes that lead here, sorted. */
  readonly gatewayPorts: readonly XdsGatewayPort[];
}

/** A port of this cluster's gateway nodes: where it listens, and for whom. */
export interface XdsGatewayPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  readonly nodes: readonly string[];
  readonly sources: readonly string[];
}

/** A frontend that leads to the cluster. Its addresses and names are the same wherever it appears. */
export interface XdsFrontend {
  readonly kind: 'gateway' | 'service' | 'service-import';
  readonly namespace: string;
  readonly name: string;
  readonly callers: { readonly namespace: string; readonly addresses: readonly string[] } | undefined;
  readonly isHeadless: boolean;
  readonly addresses: readonly string[];
  readonly dnsNames: readonly string[];
  /** The listeners of it that lead here, sorted by name. */
  readonly listeners: readonly XdsListenerUse[];
}

/** One listener's use of the cluster. Weights are relative among the clusters that the listener leads to. */
export interface XdsListenerUse {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  /** At least 1; 0 only in a reject cluster, for a listener that leads nowhere at all. */
  readonly weight: number;
}

/** An Envoy cluster load assignment: who answers for a planned backend. It changes often, its cluster rarely. */
export interface XdsLoadAssignment extends XdsResource {
  readonly localities: readonly XdsLocality[];
}

/** One provider cluster's endpoints. */
export interface XdsLocality {
  readonly region: string;
  readonly zone: string;
  /** The provider's cluster id. */
  readonly subZone: string;
  readonly priority: number;
  /** Share of the traffic, at least 1. Undefined is how xDS says "no traffic": a weight of 0 is illegal (R61). */
  readonly weight: number | undefined;
  /** How the consumer reaches the endpoints; locality metadata under {@link PROVIDER_METADATA_KEY}. */
  readonly path: 'direct' | 'gateway';
  readonly endpoints: readonly XdsEndpoint[];
}

/** Health as Envoy names it. DRAINING endpoints serve but are terminating. */
export type XdsHealth = 'HEALTHY' | 'DRAINING' | 'UNHEALTHY';

/** One address and port. */
export interface XdsEndpoint {
  readonly address: string;
  readonly port: number;
  /** Transport protocol of the socket address: the backend's. */
  readonly protocol: 'TCP' | 'UDP';
  readonly health: XdsHealth;
  /** Endpoint metadata under {@link ENDPOINT_METADATA_KEY}; empty where unknown. */
  readonly zone: string;
  readonly node: string;
  readonly hostname: string;
}

/**
 * What a gRPC client that is called `dns-name:port` does: one listener of a frontend under one of its names. It goes to its
 * clusters by weight, as connections to the frontend's address do.
 */
export interface XdsListener extends XdsResource {
  readonly clusters: readonly XdsWeightedCluster[];
}

/** A cluster and its weight, at least 1. */
export interface XdsWeightedCluster {
  readonly name: string;
  readonly weight: number;
}

/** Key of the cluster's filter metadata. */
export const FRONTENDS_METADATA_KEY = 'spillway.dev/frontends';

/** Key of the endpoint's filter metadata. */
export const ENDPOINT_METADATA_KEY = 'spillway.dev/endpoint';

/** Key of the locality's filter metadata. */
export const PROVIDER_METADATA_KEY = 'spillway.dev/provider';

/** Name of the cluster that carries what of the frontend with this key leads nowhere. */
export const rejectClusterName = (frontendKey: string): string => `reject/${frontendKey}`;
