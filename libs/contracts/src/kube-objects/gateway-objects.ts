import { z } from 'zod';

import type { GatewayClassObject, GatewayListener, GatewayObject, GatewayStatus, ReferenceGrantObject, RouteObject, ServedRouteKind } from '#domain/gateway-api';

import { conditions, labelSelector, listOf, meta, objectParser, optional, orElse, portNumber, text } from './parse-object.js';

/** What the installed definition of Gateways keeps of the fields that only some releases have. */
export interface GatewayDefinition {
  readonly keepsRoutability: boolean;
}

const GATEWAY_GROUP = 'gateway.networking.k8s.io';

const gatewayClass: z.ZodType<GatewayClassObject> = z
  .object({
    metadata: meta,
    spec: z.object({ controllerName: z.string(), parametersRef: optional(z.unknown()) }),
    status: orElse(z.object({ conditions }), { conditions: [] }),
  })
  .transform(({ metadata, spec, status }) => ({
    meta: metadata,
    controllerName: spec.controllerName,
    hasParameters: spec.parametersRef !== undefined,
    conditions: status.conditions,
  }));

const routeKind = z.object({ group: orElse(z.string(), GATEWAY_GROUP), kind: z.string().min(1) });
const allowedNamespaces = z.object({ from: orElse(z.enum(['All', 'Same', 'Selector', 'None']), 'Same'), selector: optional(labelSelector) });
const allowedRoutes = z.object({ namespaces: orElse(allowedNamespaces, { from: 'Same', selector: undefined }), kinds: listOf(routeKind) });

const listener: z.ZodType<GatewayListener> = z
  .object({
    name: z.string().min(1),
    port: portNumber,
    protocol: z.string().min(1),
    hostname: text,
    allowedRoutes: orElse(allowedRoutes, { namespaces: { from: 'Same', selector: undefined }, kinds: [] }),
  })
  .transform(({ name, port, protocol, hostname, allowedRoutes: allowed }) => ({
    name,
    port,
    protocol,
    hostname,
    allowedFrom: allowed.namespaces.from,
    allowedSelector: allowed.namespaces.selector,
    allowedKinds: allowed.kinds,
  }));

const address = z.object({ type: orElse(z.string(), 'IPAddress'), value: text, routability: z.string().optional() });
const noStatus: GatewayStatus = { addresses: [], conditions: [], listeners: [] };
const gatewayStatus: z.ZodType<GatewayStatus> = z.object({
  addresses: listOf(address),
  conditions,
  listeners: listOf(z.object({ name: z.string(), attachedRoutes: orElse(z.number(), 0), supportedKinds: listOf(routeKind), conditions })),
});

const gateway: z.ZodType<GatewayObject> = z
  .object({
    metadata: meta,
    spec: z.object({
      gatewayClassName: z.string(),
      addresses: listOf(address),
      listeners: listOf(listener),
      infrastructure: optional(z.object({ parametersRef: optional(z.unknown()) })),
    }),
    status: orElse(gatewayStatus, noStatus),
  })
  .transform(({ metadata, spec, status }) => ({
    meta: metadata,
    className: spec.gatewayClassName,
    hasParameters: spec.infrastructure?.parametersRef !== undefined,
    addresses: spec.addresses,
    listeners: spec.listeners,
    status,
  }));

const parentRef = z.looseObject({
  group: z.string().optional(),
  kind: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().min(1),
  sectionName: z.string().optional(),
  port: z.number().optional(),
});
const backendRef = z.object({
  group: text,
  kind: orElse(z.string(), 'Service'),
  namespace: text,
  name: z.string().min(1),
  port: optional(portNumber),
  weight: orElse(z.number().int().min(0).max(1_000_000), 1),
});

const rawRoute = z.object({
  metadata: meta,
  spec: z.object({ parentRefs: listOf(parentRef), rules: listOf(z.object({ backendRefs: listOf(backendRef) })) }),
  status: orElse(z.object({ parents: listOf(z.looseObject({ parentRef, controllerName: z.string(), conditions })) }), { parents: [] }),
});

const routeOf = (kind: ServedRouteKind): z.ZodType<RouteObject> =>
  rawRoute.transform(({ metadata, spec, status }) => ({
    kind,
    meta: metadata,
    parentRefs: spec.parentRefs,
    rules: spec.rules.map((rule) => ({
      backendRefs: rule.backendRefs.map((ref) => ({ ...ref, namespace: ref.namespace === '' ? metadata.namespace : ref.namespace })),
    })),
    parents: status.parents,
  }));

const referenceGrant: z.ZodType<ReferenceGrantObject> = z
  .object({
    metadata: meta,
    spec: z.object({
      from: listOf(z.object({ group: text, kind: z.string(), namespace: z.string() })),
      to: listOf(z.object({ group: text, kind: z.string(), name: text })),
    }),
  })
  .transform(({ metadata, spec }) => ({ meta: metadata, from: spec.from, to: spec.to }));

const propertiesOf = (schema: unknown): Readonly<Record<string, unknown>> => z.object({ properties: z.record(z.string(), z.unknown()) }).safeParse(schema).data?.properties ?? {};
const itemsOf = (schema: unknown): unknown => z.object({ items: z.unknown() }).safeParse(schema).data?.items;

const gatewayDefinition: z.ZodType<GatewayDefinition> = z
  .object({ spec: z.object({ versions: listOf(z.object({ name: z.string(), schema: optional(z.object({ openAPIV3Schema: z.unknown() })) })) }) })
  .transform(({ spec }) => {
    const root = spec.versions.find(({ name }) => name === 'v1')?.schema?.openAPIV3Schema;
    return { keepsRoutability: 'routability' in propertiesOf(itemsOf(propertiesOf(propertiesOf(root)['status'])['addresses'])) };
  });

/** Parses the CustomResourceDefinition of Gateways. */
export const parseGatewayDefinition = objectParser('CustomResourceDefinition', gatewayDefinition);
/** Parses a GatewayClass. */
export const parseGatewayClass = objectParser('GatewayClass', gatewayClass);
/** Parses a Gateway. */
export const parseGateway = objectParser('Gateway', gateway);
/** Parses a TCPRoute. */
export const parseTcpRoute = objectParser('TCPRoute', routeOf('TCPRoute'));
/** Parses a UDPRoute. */
export const parseUdpRoute = objectParser('UDPRoute', routeOf('UDPRoute'));
/** Parses a ReferenceGrant. */
export const parseReferenceGrant = objectParser('ReferenceGrant', referenceGrant);
