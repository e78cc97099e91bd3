import { z } from 'zod';

import type { NamespaceObject } from '#domain/gateway-api';
import type { EndpointSliceObject, ImportSliceObject, NodeObject, PodObject } from '#domain/routing-plan';

import { labels, listOf, objectParser, optional, orElse, portNumber, text } from './parse-object.js';

const shortMeta = z.object({ name: z.string().min(1), namespace: text, labels, deletionTimestamp: text });
const typedStatus = z.object({ type: z.string(), status: z.string() });
const isTrue = (all: readonly z.output<typeof typedStatus>[], type: string): boolean => all.some((one) => one.type === type && one.status === 'True');

const container = z.object({
  // Init containers with restartPolicy Always are sidecars: their ports serve, too.
  restartPolicy: text,
  ports: listOf(z.object({ name: text, containerPort: portNumber, protocol: orElse(z.string(), 'TCP') })),
});

const pod: z.ZodType<PodObject> = z
  .object({
    metadata: shortMeta,
    spec: z.object({ nodeName: text, hostNetwork: orElse(z.boolean(), false), containers: listOf(container), initContainers: listOf(container) }),
    status: orElse(
      z.object({ phase: text, podIP: text, podIPs: listOf(z.object({ ip: text })), conditions: listOf(typedStatus) }),
      { phase: '', podIP: '', podIPs: [], conditions: [] },
    ),
  })
  .transform(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    name: metadata.name,
    labels: metadata.labels,
    node: spec.nodeName,
    addresses: (status.podIPs.length > 0 ? status.podIPs.map(({ ip }) => ip) : [status.podIP]).filter((ip) => ip !== ''),
    isReady: isTrue(status.conditions, 'Ready'),
    isDeleting: metadata.deletionTimestamp !== '',
    isOnHostNetwork: spec.hostNetwork,
    isFinished: status.phase === 'Succeeded' || status.phase === 'Failed',
    namedPorts: [...spec.containers, ...spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')]
      .flatMap(({ ports }) => ports)
      .filter(({ name }) => name !== '')
      .map((port) => ({ name: port.name, port: port.containerPort, protocol: port.protocol })),
  }));

const node: z.ZodType<NodeObject> = z
  .object({
    metadata: z.object({ ...shortMeta.shape, annotations: labels }),
    status: orElse(z.object({ conditions: listOf(typedStatus), addresses: listOf(z.object({ type: text, address: text })) }), { conditions: [], addresses: [] }),
  })
  .transform(({ metadata, status }) => ({
    name: metadata.name,
    isReady: isTrue(status.conditions, 'Ready'),
    zone: metadata.labels['topology.kubernetes.io/zone'] ?? '',
    region: metadata.labels['topology.kubernetes.io/region'] ?? '',
    internalIps: status.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
    isGateway: !['false', undefined].includes(metadata.labels['spillway.dev/gateway']),
    gatewayAddresses: addressList(metadata.annotations['spillway.dev/gateway-address']),
    egressAddresses: addressList(metadata.annotations['spillway.dev/egress-address']),
  }));

// One address, or one of each family, by commas.
const addressList = (annotation: string | undefined): readonly string[] => (annotation ?? '').split(',').map((part) => part.trim()).filter((part) => part !== '');

const namespace: z.ZodType<NamespaceObject> = z
  .object({ metadata: shortMeta })
  .transform(({ metadata }) => ({ name: metadata.name, labels: metadata.labels }));

const sliceEndpoint = z
  .object({
    addresses: listOf(z.string()),
    conditions: orElse(z.object({ ready: optional(z.boolean()), serving: optional(z.boolean()), terminating: optional(z.boolean()) }), {
      ready: undefined,
      serving: undefined,
      terminating: undefined,
    }),
    nodeName: text,
    zone: text,
    hostname: text,
  })
  .transform((raw) => {
    // discovery.k8s.io/v1: an absent ready means ready, an absent serving means the same as ready.
    const ready = raw.conditions.ready ?? true;
    return {
      addresses: raw.addresses,
      ready,
      serving: raw.conditions.serving ?? ready,
      terminating: raw.conditions.terminating ?? false,
      node: raw.nodeName,
      zone: raw.zone,
      hostname: raw.hostname,
    };
  });

const rawSlice = z
  .object({
    metadata: shortMeta,
    addressType: z.string(),
    // A port without a number means all ports: nothing that a connection could be led to.
    ports: listOf(z.object({ name: text, port: optional(portNumber), protocol: orElse(z.string(), 'TCP') })),
    endpoints: listOf(sliceEndpoint),
  })
  .transform(({ metadata, addressType, ports, endpoints }) => ({
    labels: metadata.labels,
    slice: {
      namespace: metadata.namespace,
      name: metadata.name,
      addressType,
      ports: ports.flatMap(({ name, port, protocol }) => (port === undefined ? [] : [{ name, port, protocol }])),
      endpoints,
    },
  }));

const endpointSlice: z.ZodType<EndpointSliceObject> = rawSlice.transform(({ labels: all, slice }) => ({ ...slice, serviceName: all['kubernetes.io/service-name'] ?? '' }));

const importSlice: z.ZodType<ImportSliceObject> = rawSlice.transform(({ labels: all, slice }) => ({
  ...slice,
  serviceName: all['multicluster.kubernetes.io/service-name'] ?? '',
  sourceCluster: all['multicluster.kubernetes.io/source-cluster'] ?? '',
}));

/** Parses a Pod. */
export const parsePod = objectParser('Pod', pod);
/** Parses a Node. */
export const parseNode = objectParser('Node', node);
/** Parses a Namespace. */
export const parseNamespace = objectParser('Namespace', namespace);
/** Parses an EndpointSlice. */
export const parseEndpointSlice = objectParser('EndpointSlice', endpointSlice);
/** Parses an EndpointSlice of a ServiceImport. */
export const parseImportSlice = objectParser('EndpointSlice', importSlice);
