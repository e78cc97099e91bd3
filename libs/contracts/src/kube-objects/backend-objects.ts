import { z } from 'zod';

import type { CompositeBackendObject, EndpointSelectorObject, ServiceObject } from '#domain/gateway-api';

import { conditions, labelSelector, listOf, meta, objectParser, optional, orElse, portNumber, text } from './parse-object.js';

const protocol = orElse(z.enum(['TCP', 'UDP']), 'TCP');
const portOrName = z.union([portNumber, z.string().min(1).max(63)]);

const endpointSelector: z.ZodType<EndpointSelectorObject> = z
  .object({
    metadata: meta,
    spec: z.object({ selector: labelSelector, ports: listOf(z.object({ name: text, protocol, targetPort: portOrName })) }),
    status: orElse(z.object({ conditions }), { conditions: [] }),
  })
  .transform(({ metadata, spec, status }) => ({ meta: metadata, selector: spec.selector, ports: spec.ports, conditions: status.conditions }));

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
      }),
      { backendRef: undefined, ports: [], capacity: undefined },
    ),
    status: orElse(
      z.object({ conditions, members: optional(z.object({ total: z.number(), serving: z.number() })) }),
      { conditions: [], members: undefined },
    ),
  })
  .transform(({ metadata, spec, status }) => ({ meta: metadata, ...spec, conditions: status.conditions, members: status.members }));

const service: z.ZodType<ServiceObject> = z
  .object({
    metadata: meta,
    spec: z.object({
      type: orElse(z.string(), 'ClusterIP'),
      clusterIP: text,
      clusterIPs: listOf(z.string()),
      sessionAffinity: orElse(z.enum(['None', 'ClientIP']), 'None'),
      ports: listOf(z.object({ name: text, port: portNumber, protocol: orElse(z.string(), 'TCP') })),
    }),
  })
  .transform(({ metadata, spec }) => ({
    namespace: metadata.namespace,
    name: metadata.name,
    type: spec.type,
    clusterIps: (spec.clusterIPs.length > 0 ? spec.clusterIPs : [spec.clusterIP]).filter((ip) => ip !== '' && ip !== 'None'),
    sessionAffinity: spec.sessionAffinity,
    ports: spec.ports,
  }));

/** Parses an EndpointSelector. */
export const parseEndpointSelector = objectParser('EndpointSelector', endpointSelector);
/** Parses a CompositeBackend. */
export const parseCompositeBackend = objectParser('CompositeBackend', compositeBackend);
/** Parses a Service. */
export const parseService = objectParser('Service', service);
