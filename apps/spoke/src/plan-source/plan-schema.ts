import { z } from 'zod';

import { clusterId } from '#domain/fleet';
import type { PlannedBackendId } from '#domain/routing-plan';

const protocolSchema = z.enum(['TCP', 'UDP']);
const backendIdSchema = z.string().transform((text) => text as PlannedBackendId);
const listenerSchema = z.object({
  name: z.string(),
  port: z.number().int(),
  protocol: protocolSchema,
  uses: z.array(z.object({ backend: backendIdSchema, weight: z.number().int() })),
  rejectWeight: z.number().int(),
});

/** A frontend as it is kept on disk. */
const frontendSchema = z
  .object({
  kind: z.enum(['gateway', 'service', 'service-import']),
  namespace: z.string(),
  name: z.string(),
  callers: z.object({ namespace: z.string(), addresses: z.array(z.string()) }).optional(),
  isHeadless: z.boolean().default(false),
  addresses: z.array(z.string()),
  dnsNames: z.array(z.string()),
  listeners: z.array(listenerSchema),
  })
  .transform((frontend) => ({ ...frontend, callers: frontend.callers }));

const endpointSchema = z.object({ address: z.string(), port: z.number().int(), state: z.enum(['ready', 'serving-terminating', 'not-ready']), zone: z.string().default(''), node: z.string().default(''), hostname: z.string().default('') });
const providerSchema = z.object({
  clusterId: z.string().transform(clusterId),
  locality: z.object({ region: z.string(), zone: z.string() }),
  path: z.enum(['direct', 'gateway']),
  shareBp: z.number().int().min(0).max(10_000),
  endpoints: z.array(endpointSchema),
});
const backendSchema = z
  .object({
  id: backendIdSchema,
  protocol: protocolSchema,
  affinity: z.object({ scope: z.enum(['endpoint', 'cluster']), timeoutSeconds: z.number().int().positive() }).optional(),
  trafficDistribution: z.enum(['None', 'PreferSameZone', 'PreferSameNode']).default('None'),
  providers: z.array(providerSchema),
  })
  .transform((backend) => ({ ...backend, affinity: backend.affinity }));
const gatewayPortSchema = z.object({ port: z.number().int(), protocol: protocolSchema, backend: backendIdSchema, nodes: z.array(z.string()), sources: z.array(z.string()) });

/** A routing plan as it is kept on disk. */
export const planSchema = z.object({ frontends: z.array(frontendSchema), backends: z.array(backendSchema), gatewayPorts: z.array(gatewayPortSchema).default([]) });
