/** Type URL of clusters (CDS). */
export const CLUSTER_TYPE_URL = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';

/** Type URL of cluster load assignments (EDS). */
export const LOAD_ASSIGNMENT_TYPE_URL = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';

/** Type URL of listeners (LDS): what gRPC clients begin with. */
export const LISTENER_TYPE_URL = 'type.googleapis.com/envoy.config.listener.v3.Listener';

/** The resource types that Spillway serves on delta streams and reads. */
export type XdsTypeUrl = typeof CLUSTER_TYPE_URL | typeof LOAD_ASSIGNMENT_TYPE_URL;

/** The gRPC method of the aggregated delta stream. */
export const DELTA_ADS_PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

/** The gRPC method of the aggregated state-of-the-world stream. */
export const SOTW_ADS_PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';

/** One resource as it goes over every stream: the bytes of a `Resource` message, encoded once. */
export interface EncodedResource {
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
  /** The part of `bytes` that is the content as a serialized `Any`: what state-of-the-world streams carry. */
  readonly content: Uint8Array;
}
