/** Type URL of clusters (CDS). */
export const CLUSTER_TYPE_URL = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';

/** Type URL of cluster load assignments (EDS). */
export const LOAD_ASSIGNMENT_TYPE_URL = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';

/** The resource types that Spillway serves and reads. */
export type XdsTypeUrl = typeof CLUSTER_TYPE_URL | typeof LOAD_ASSIGNMENT_TYPE_URL;

/** The gRPC method of the aggregated delta stream. */
export const DELTA_ADS_PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

/** One resource as it goes over every stream: the bytes of a `Resource` message, encoded once. */
export interface EncodedResource {
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
}
