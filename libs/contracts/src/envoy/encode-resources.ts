import { create, toBinary, type JsonObject } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';

import { ENDPOINT_METADATA_KEY, FRONTENDS_METADATA_KEY, PROVIDER_METADATA_KEY, type XdsCluster, type XdsClusterMetadata, type XdsEndpoint, type XdsHealth, type XdsListener, type XdsLoadAssignment, type XdsLocality, type XdsResource } from '#domain/xds-snapshot';

import { Cluster_DiscoveryType, ClusterLoadAssignmentSchema, ClusterSchema, ConfigSource_ApiVersion, HealthStatus, HttpConnectionManagerSchema, ListenerSchema, ResourceSchema, RouteConfigurationSchema, SocketProtocol } from './generated/spillway/xds/v1/xds_pb.js';
import { CLUSTER_TYPE_URL, LISTENER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL, type EncodedResource, type XdsTypeUrl } from './resource-types.js';

/**
 * Envoy scales a locality's weight by its healthy fraction times this percentage, at most to 1. Shares already count
 * ready endpoints only, so the scaling must not bite: any locality with one healthy endpoint in a thousand keeps its weight.
 */
const OVERPROVISIONING_FACTOR_PERCENT = 100_000;

const CONNECT_TIMEOUT_SECONDS = 5n;

/** Encodes a cluster as an Envoy `Cluster` in a `Resource`. */
export function encodeCluster(cluster: XdsCluster): EncodedResource {
  const message = create(ClusterSchema, {
    name: cluster.name,
    type: cluster.edsServiceName === undefined ? Cluster_DiscoveryType.STATIC : Cluster_DiscoveryType.EDS,
    connectTimeout: { seconds: CONNECT_TIMEOUT_SECONDS },
    metadata: { filterMetadata: { [FRONTENDS_METADATA_KEY]: metadataJson(cluster.metadata) } },
    // Locality weights are our shares; without panic, endpoints that are not ready get nothing even if none is ready.
    commonLbConfig: { healthyPanicThreshold: { value: 0 }, localityWeightedLbConfig: {} },
  });
  if (cluster.edsServiceName !== undefined) {
    message.edsClusterConfig = create(ClusterSchema, {
      edsClusterConfig: { edsConfig: { ads: {}, resourceApiVersion: ConfigSource_ApiVersion.V3 }, serviceName: cluster.edsServiceName },
    }).edsClusterConfig;
  }
  return encodeResource(CLUSTER_TYPE_URL, cluster, toBinary(ClusterSchema, message));
}

/** Encodes a load assignment as an Envoy `ClusterLoadAssignment` in a `Resource`. */
export function encodeLoadAssignment(assignment: XdsLoadAssignment): EncodedResource {
  const message = create(ClusterLoadAssignmentSchema, {
    clusterName: assignment.name,
    endpoints: assignment.localities.map(localityInit),
    policy: { overprovisioningFactor: OVERPROVISIONING_FACTOR_PERCENT },
  });
  return encodeResource(LOAD_ASSIGNMENT_TYPE_URL, assignment, toBinary(ClusterLoadAssignmentSchema, message));
}

/** Encodes a listener as an Envoy `Listener` with an API listener, as gRPC wants it (gRFC A27), in a `Resource`. */
export function encodeListener(listener: XdsListener): EncodedResource {
  const routes = create(RouteConfigurationSchema, {
    name: listener.name,
    virtualHosts: [
      {
        name: listener.name,
        domains: ['*'],
        routes: [{ match: { prefix: '' }, route: { weightedClusters: { clusters: listener.clusters.map(({ name, weight }) => ({ name, weight })) } } }],
      },
    ],
  });
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: 'spillway',
    routeConfig: routes,
    httpFilters: [{ name: 'router', typedConfig: { typeUrl: ROUTER_TYPE_URL, value: new Uint8Array() } }],
  });
  const message = create(ListenerSchema, { name: listener.name, apiListener: { apiListener: { typeUrl: HTTP_CONNECTION_MANAGER_TYPE_URL, value: toBinary(HttpConnectionManagerSchema, manager) } } });
  return encodeResource(LISTENER_TYPE_URL, listener, toBinary(ListenerSchema, message));
}

const HTTP_CONNECTION_MANAGER_TYPE_URL = 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ROUTER_TYPE_URL = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';

function encodeResource(typeUrl: XdsTypeUrl | typeof LISTENER_TYPE_URL, { name, version }: XdsResource, value: Uint8Array): EncodedResource {
  const bytes = toBinary(ResourceSchema, create(ResourceSchema, { name, version, resource: { typeUrl, value } }));
  // Fields are written in the order of their numbers: version, content, name. The content's bytes are shared, not copied.
  const contentLength = toBinary(AnySchema, create(AnySchema, { typeUrl, value })).length;
  const contentEnd = bytes.length - toBinary(ResourceSchema, create(ResourceSchema, { name })).length;
  return { name, version, bytes, content: bytes.subarray(contentEnd - contentLength, contentEnd) };
}

// Spelled out field by field: JSON has no undefined, and Struct takes plain mutable JSON only.
const metadataJson = (metadata: XdsClusterMetadata): JsonObject => ({
  ...(metadata.protocol === undefined ? {} : { protocol: metadata.protocol }),
  ...(metadata.affinity === undefined ? {} : { affinity: { scope: metadata.affinity.scope, timeoutSeconds: metadata.affinity.timeoutSeconds } }),
  ...(metadata.trafficDistribution === 'None' ? {} : { trafficDistribution: metadata.trafficDistribution }),
  ...(metadata.gatewayPorts.length === 0 ? {} : { gatewayPorts: metadata.gatewayPorts.map(({ port, protocol, nodes, sources }) => ({ port, protocol, nodes: [...nodes], sources: [...sources] })) }),
  frontends: metadata.frontends.map((frontend) => ({
    ...(frontend.kind === 'gateway' ? {} : { kind: frontend.kind }),
    namespace: frontend.namespace,
    name: frontend.name,
    ...(frontend.callers === undefined ? {} : { callers: { namespace: frontend.callers.namespace, addresses: [...frontend.callers.addresses] } }),
    ...(frontend.isHeadless ? { isHeadless: true } : {}),
    addresses: [...frontend.addresses],
    dnsNames: [...frontend.dnsNames],
    listeners: frontend.listeners.map(({ name, port, protocol, weight }) => ({ name, port, protocol, weight })),
  })),
});

const localityInit = (locality: XdsLocality) => ({
  locality: { region: locality.region, zone: locality.zone, subZone: locality.subZone },
  lbEndpoints: locality.endpoints.map(endpointInit),
  ...(locality.weight === undefined ? {} : { loadBalancingWeight: locality.weight }),
  priority: locality.priority,
  metadata: { filterMetadata: { [PROVIDER_METADATA_KEY]: { path: locality.path } } },
});

const HEALTH_STATUS: Readonly<Record<XdsHealth, HealthStatus>> = { HEALTHY: HealthStatus.HEALTHY, DRAINING: HealthStatus.DRAINING, UNHEALTHY: HealthStatus.UNHEALTHY };

const endpointInit = (endpoint: XdsEndpoint) => ({
  endpoint: { address: { socketAddress: { protocol: SocketProtocol[endpoint.protocol], address: endpoint.address, portValue: endpoint.port } } },
  healthStatus: HEALTH_STATUS[endpoint.health],
  ...endpointMetadata(endpoint),
});

function endpointMetadata({ zone, node, hostname }: XdsEndpoint): { readonly metadata?: { readonly filterMetadata: Record<string, JsonObject> } } {
  const fields = Object.fromEntries(Object.entries({ zone, node, hostname }).filter(([, value]) => value !== ''));
  return Object.keys(fields).length === 0 ? {} : { metadata: { filterMetadata: { [ENDPOINT_METADATA_KEY]: fields } } };
}
