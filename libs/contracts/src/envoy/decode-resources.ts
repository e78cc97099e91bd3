import { fromBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { z } from 'zod';

import { FleetError } from '#domain/fleet';
import { ENDPOINT_METADATA_KEY, FRONTENDS_METADATA_KEY, PROVIDER_METADATA_KEY, type XdsCluster, type XdsClusterMetadata, type XdsEndpoint, type XdsHealth, type XdsLoadAssignment, type XdsLocality } from '#domain/xds-snapshot';

import { Cluster_DiscoveryType, ClusterLoadAssignmentSchema, ClusterSchema, HealthStatus, ResourceSchema, SocketProtocol, type Cluster, type LbEndpoint, type LocalityLbEndpoints } from './generated/spillway/xds/v1/xds_pb.js';

/** A resource whose content is not decoded yet. */
export interface ResourceEnvelope {
  readonly name: string;
  readonly version: string;
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** Opens a serialized `Resource`. Throws FleetError XDS_RESOURCE_INVALID. */
export function decodeResource(bytes: Uint8Array): ResourceEnvelope {
  const { name, version, resource } = decodeMessage(ResourceSchema, bytes, 'resource');
  if (resource === undefined) throw invalid(`resource ${name} has no content`);
  return { name, version, typeUrl: resource.typeUrl, value: resource.value };
}

/** Decodes the content of a cluster resource. Throws FleetError XDS_RESOURCE_INVALID with the field that is wrong. */
export function decodeCluster({ name, version, value }: ResourceEnvelope): XdsCluster {
  const message = decodeMessage(ClusterSchema, value, `cluster ${name}`);
  if (message.name !== name) throw invalid(`cluster ${name}: its content is named ${message.name}`);
  return { name, version, edsServiceName: edsServiceName(message), metadata: decodeMetadata(message) };
}

/** Decodes the content of a load assignment resource. Throws FleetError XDS_RESOURCE_INVALID with the field that is wrong. */
export function decodeLoadAssignment({ name, version, value }: ResourceEnvelope): XdsLoadAssignment {
  const message = decodeMessage(ClusterLoadAssignmentSchema, value, `load assignment ${name}`);
  if (message.clusterName !== name) throw invalid(`load assignment ${name}: its content is named ${message.clusterName}`);
  return { name, version, localities: message.endpoints.map((locality, index) => decodeLocality(locality, `load assignment ${name}: endpoints[${index}]`)) };
}

const invalid = (message: string, cause?: unknown): FleetError => new FleetError('XDS_RESOURCE_INVALID', 'bug', message, { cause });

function decodeMessage<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array, what: string): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch (error) {
    throw invalid(`${what} is not a valid ${schema.name} message`, error);
  }
}

const edsServiceName = (message: Cluster): string | undefined =>
  message.type === Cluster_DiscoveryType.EDS ? message.edsClusterConfig?.serviceName || message.name : undefined;

const protocolSchema = z.enum(['TCP', 'UDP']);
const metadataSchema = z.object({
  protocol: protocolSchema.optional(),
  affinity: z.object({ scope: z.enum(['endpoint', 'cluster']), timeoutSeconds: z.number().int().positive() }).optional(),
  trafficDistribution: z.enum(['None', 'PreferSameZone', 'PreferSameNode']).default('None'),
  gatewayPorts: z.array(z.object({ port: z.number().int(), protocol: protocolSchema, nodes: z.array(z.string()), sources: z.array(z.string()) })).default([]),
  frontends: z.array(
    z.object({
      kind: z.enum(['gateway', 'service', 'service-import']).default('gateway'),
      callers: z.object({ namespace: z.string(), addresses: z.array(z.string()) }).optional(),
      isHeadless: z.boolean().default(false),
      namespace: z.string(),
      name: z.string(),
      addresses: z.array(z.string()),
      dnsNames: z.array(z.string()),
      listeners: z.array(z.object({ name: z.string(), port: z.number().int(), protocol: protocolSchema, weight: z.number().int() })),
    }),
  ),
});

// A cluster from a server that knows nothing of frontends is a cluster without any.
function decodeMetadata(message: Cluster): XdsClusterMetadata {
  const raw = message.metadata?.filterMetadata[FRONTENDS_METADATA_KEY];
  if (raw === undefined) return { protocol: undefined, affinity: undefined, trafficDistribution: 'None', frontends: [], gatewayPorts: [] };
  const parsed = metadataSchema.safeParse(raw);
  if (parsed.success) return { ...parsed.data, protocol: parsed.data.protocol, affinity: parsed.data.affinity, frontends: parsed.data.frontends.map((frontend) => ({ ...frontend, callers: frontend.callers })) };
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
  throw invalid(`cluster ${message.name}: metadata ${FRONTENDS_METADATA_KEY} is malformed: ${issues}`);
}

function decodeLocality(message: LocalityLbEndpoints, path: string): XdsLocality {
  const { locality } = message;
  if (locality === undefined) throw invalid(`${path}.locality is missing`);
  return {
    region: locality.region,
    zone: locality.zone,
    subZone: locality.subZone,
    priority: message.priority,
    weight: message.loadBalancingWeight,
    path: message.metadata?.filterMetadata[PROVIDER_METADATA_KEY]?.['path'] === 'gateway' ? 'gateway' : 'direct',
    endpoints: message.lbEndpoints.map((endpoint, index) => decodeEndpoint(endpoint, `${path}.lb_endpoints[${index}]`)),
  };
}

function decodeEndpoint({ endpoint, healthStatus, metadata }: LbEndpoint, path: string): XdsEndpoint {
  const socket = endpoint?.address?.socketAddress;
  if (socket === undefined) throw invalid(`${path} has no socket address`);
  const fields = metadata?.filterMetadata[ENDPOINT_METADATA_KEY];
  return {
    address: socket.address,
    port: socket.portValue,
    protocol: socket.protocol === SocketProtocol.UDP ? 'UDP' : 'TCP',
    health: healthOf(healthStatus),
    zone: textOf(fields?.['zone']),
    node: textOf(fields?.['node']),
    hostname: textOf(fields?.['hostname']),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

// Envoy: an unknown health counts as healthy; degraded endpoints serve. What else there may be does not.
function healthOf(status: HealthStatus): XdsHealth {
  switch (status) {
    case HealthStatus.UNKNOWN:
    case HealthStatus.HEALTHY:
    case HealthStatus.DEGRADED:
      return 'HEALTHY';
    case HealthStatus.DRAINING:
      return 'DRAINING';
    case HealthStatus.UNHEALTHY:
    case HealthStatus.TIMEOUT:
    default:
      return 'UNHEALTHY';
  }
}
