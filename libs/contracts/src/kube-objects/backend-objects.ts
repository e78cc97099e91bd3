import { z } from 'zod';

import { formatIp, parseIp } from '#domain/addresses';
import type { CompositeBackendObject, EndpointSelectorObject, ServiceAffinity, ServiceImportObject, ServiceObject, TrafficPreference } from '#domain/gateway-api';

import { conditions, labelSelector, listOf, meta, objectParser, optional, orElse, portNumber, text } from './parse-object.js';

const protocol = orElse(z.enum(['TCP', 'UDP']), 'TCP');
const portOrName = z.union([portNumber, z.string().min(1).max(63)]);

const endpointSelector: z.ZodType<EndpointSelectorObject> = z
  .object({
    metadata: meta,
    spec: z.object({ selector: labelSelector, ports: listOf(z.object({ name: text, protocol, targetPort: portOrName })) }),
    status: orElse(z.object({ conditions }), { conditions: [] }),
  })
  .transform(({ metadata, spec, status }) => ({ kind: 'EndpointSelector', meta: metadata, selector: spec.selector, ports: spec.ports, conditions: status.conditions }));

// The prototype's selector lists no ports, and its status is its own controller's.
const xEndpointSelector: z.ZodType<EndpointSelectorObject> = z
  .object({ metadata: meta, spec: z.object({ selector: labelSelector }) })
  .transform(({ metadata, spec }) => ({ kind: 'XEndpointSelector', meta: metadata, selector: spec.selector, ports: [], conditions: [] }));

// As on a Service.
const AFFINITY_TIMEOUT_SECONDS = 10_800;
const NO_SPEC = { backendRef: undefined, ports: [], capacity: undefined, sessionAffinity: undefined, sessionAffinityTimeoutSeconds: AFFINITY_TIMEOUT_SECONDS, trafficDistribution: undefined, publishNotReadyAddresses: false };

const compositeBackend: z.ZodType<CompositeBackendObject> = z
  .object({
    metadata: meta,
    spec: orElse(
      z.object({
        backendRef: optional(z.object({ group: orElse(z.string(), 'spillway.dev'), kind: z.string(), name: z.string().min(1) })),
        ports: listOf(
          z
            .object({ port: portNumber, protocol, targetPort: optional(portOrName) })
            .transform((raw) => ({ port: raw.port, protocol: raw.protocol, targetPort: raw.targetPort ?? raw.port })),
        ),
        capacity: optional(z.object({ unit: z.enum(['Requests', 'Concurrent', 'Tokens']), perEndpoint: z.number().positive() })),
        sessionAffinity: optional(z.enum(['None', 'ClientIP', 'Cluster'])),
        sessionAffinityTimeoutSeconds: orElse(z.number().int().positive(), AFFINITY_TIMEOUT_SECONDS),
        trafficDistribution: optional(z.enum(['None', 'PreferSameZone', 'PreferSameNode'])),
        publishNotReadyAddresses: orElse(z.boolean(), false),
      }),
      NO_SPEC,
    ),
    status: orElse(
      z.object({ conditions, members: optional(z.object({ total: z.number(), serving: z.number() })) }),
      { conditions: [], members: undefined },
    ),
  })
  .transform(({ metadata, spec: { sessionAffinity, sessionAffinityTimeoutSeconds, ...spec }, status }) => ({
    meta: metadata,
    ...spec,
    affinity: sessionAffinity === undefined ? undefined : { affinity: sessionAffinity, timeoutSeconds: sessionAffinityTimeoutSeconds },
    conditions: status.conditions,
    members: status.members,
  }));

const stickiness = {
  sessionAffinity: text,
  sessionAffinityConfig: optional(z.object({ clientIP: optional(z.object({ timeoutSeconds: optional(z.number().int().positive()) })) })),
  trafficDistribution: text,
};
type Stickiness = z.output<z.ZodObject<typeof stickiness>>;

const affinityOf = ({ sessionAffinity, sessionAffinityConfig }: Stickiness): ServiceAffinity | undefined =>
  sessionAffinity === 'ClientIP' ? { timeoutSeconds: sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_TIMEOUT_SECONDS } : undefined;

// A value that we do not know is a hint that we do not take.
const PREFERENCES: ReadonlyMap<string, TrafficPreference> = new Map([
  ['PreferClose', 'PreferSameZone'],
  ['PreferSameZone', 'PreferSameZone'],
  ['PreferSameNode', 'PreferSameNode'],
]);

const service: z.ZodType<ServiceObject> = z
  .object({
    metadata: meta,
    spec: z.object({
      type: orElse(z.string(), 'ClusterIP'),
      clusterIP: text,
      clusterIPs: listOf(z.string()),
      ...stickiness,
      ports: listOf(z.object({ name: text, port: portNumber, protocol: orElse(z.string(), 'TCP') })),
    }),
  })
  .transform(({ metadata, spec }) => ({
    namespace: metadata.namespace,
    name: metadata.name,
    type: spec.type,
    clusterIps: (spec.clusterIPs.length > 0 ? spec.clusterIPs : [spec.clusterIP]).filter((ip) => ip !== '' && ip !== 'None'),
    affinity: affinityOf(spec),
    trafficDistribution: PREFERENCES.get(spec.trafficDistribution),
    ports: spec.ports,
  }));

const serviceImport: z.ZodType<ServiceImportObject> = z
  .object({
    metadata: meta,
    spec: z.object({
      type: z.enum(['ClusterSetIP', 'Headless']),
      ips: listOf(z.string()),
      ports: listOf(z.object({ name: text, port: portNumber, protocol: orElse(z.string(), 'TCP') })),
      ...stickiness,
    }),
  })
  .transform(({ metadata, spec }) => ({
    meta: metadata,
    type: spec.type,
    addresses: spec.type === 'Headless' ? [] : spec.ips.flatMap(canonical),
    ports: spec.ports,
    // KEP-1645: a headless import has no affinity.
    affinity: spec.type === 'Headless' ? undefined : affinityOf(spec),
    trafficDistribution: PREFERENCES.get(spec.trafficDistribution),
  }));

function canonical(address: string): readonly string[] {
  const ip = parseIp(address);
  return ip === undefined ? [] : [formatIp(ip)];
}

/** Parses a ServiceImport. */
export const parseServiceImport = objectParser('ServiceImport', serviceImport);
/** Parses an XEndpointSelector of the prototype. */
export const parseXEndpointSelector = objectParser('XEndpointSelector', xEndpointSelector);
/** Parses an EndpointSelector. */
export const parseEndpointSelector = objectParser('EndpointSelector', endpointSelector);
/** Parses a CompositeBackend. */
export const parseCompositeBackend = objectParser('CompositeBackend', compositeBackend);
/** Parses a Service. */
export const parseService = objectParser('Service', service);
