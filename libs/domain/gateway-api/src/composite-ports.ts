import type { Lookup, NamespacedName, Protocol } from '#domain/fleet';

import { EXPERIMENTAL_GROUP, SPILLWAY_GROUP } from './names.js';
import type { CompositeBackendObject, CompositePort, EndpointSelectorObject, ServiceObject } from './objects.js';

/** The local part of a CompositeBackend, found. */
export type LocalPart =
  | { readonly kind: 'selector'; readonly selector: EndpointSelectorObject }
  | { readonly kind: 'service'; readonly service: ServiceObject };

/** Where local parts are looked up: selectors by {@link selectorKey}, Services by `namespace/name`. */
export interface LocalPartIndex {
  readonly selectors: Lookup<EndpointSelectorObject>;
  readonly services: Lookup<ServiceObject>;
}

/** The local part that a CompositeBackend names, where it exists and is of a kind that we serve. */
export function findLocalPart({ meta, backendRef }: CompositeBackendObject, index: LocalPartIndex): LocalPart | undefined {
  if (backendRef === undefined) return undefined;
  const key = `${meta.namespace}/${backendRef.name}`;
  const selectorKind = selectorKindOf(backendRef);
  if (selectorKind !== undefined) {
    const selector = index.selectors.get(selectorKey({ kind: selectorKind, namespace: meta.namespace, name: backendRef.name }));
    return selector === undefined ? undefined : { kind: 'selector', selector };
  }
  if (!isServiceRef(backendRef)) return undefined;
  const service = index.services.get(key);
  return service === undefined ? undefined : { kind: 'service', service };
}

/** The kind of selector that a reference means; undefined where it means something else. */
export function selectorKindOf({ group, kind }: { readonly group: string; readonly kind: string }): EndpointSelectorObject['kind'] | undefined {
  if (group === SPILLWAY_GROUP && kind === 'EndpointSelector') return kind;
  return group === EXPERIMENTAL_GROUP && kind === 'XEndpointSelector' ? kind : undefined;
}

/** What tells selectors of both kinds apart; one of ours has the plain `namespace/name`. */
export const selectorKey = ({ kind, namespace, name }: { readonly kind: EndpointSelectorObject['kind'] } & NamespacedName): string => `${kind === 'XEndpointSelector' ? 'x:' : ''}${namespace}/${name}`;
/** Whether a reference means a Service. */
export const isServiceRef = (ref: { readonly group: string; readonly kind: string }): boolean => ref.group === '' && ref.kind === 'Service';

/** The {@link selectorKey} of a selector. */
export const keyOfSelector = ({ kind, meta }: EndpointSelectorObject): string => selectorKey({ kind, namespace: meta.namespace, name: meta.name });

/** The ports that a CompositeBackend offers in this cluster: those of its spec, else those that its local part has by number. Sorted. */
export function compositePorts(composite: CompositeBackendObject, part: LocalPart | undefined): readonly CompositePort[] {
  const ports = composite.ports.length > 0 ? composite.ports : part === undefined ? [] : portsOf(part);
  return [...ports].sort((a, b) => a.port - b.port || (a.protocol < b.protocol ? -1 : 1));
}

function portsOf(part: LocalPart): readonly CompositePort[] {
  if (part.kind === 'selector') return part.selector.ports.flatMap(({ targetPort, protocol }) => (typeof targetPort === 'number' ? [{ port: targetPort, protocol, targetPort }] : []));
  return part.service.ports.flatMap(({ port, protocol }) => (protocol === 'TCP' || protocol === 'UDP' ? [{ port, protocol, targetPort: port }] : []));
}

/**
 * Where a target port leads in selected pods: a number, or the name of a container's port; undefined where the selector
 * lists ports and this is none of them.
 */
export function selectorTarget({ ports }: EndpointSelectorObject, targetPort: number | string, protocol: Protocol): number | string | undefined {
  if (ports.length === 0) return targetPort;
  const suitable = ports.filter((port) => port.protocol === protocol);
  if (typeof targetPort === 'string') return suitable.find(({ name }) => name === targetPort)?.targetPort;
  // A listed port with a container port's name may be any number, a different one on each pod.
  return suitable.some((port) => port.targetPort === targetPort || typeof port.targetPort === 'string') ? targetPort : undefined;
}

/** The Service port that a number or a name means. */
export const servicePort = ({ ports }: ServiceObject, port: number | string, protocol: Protocol): ServiceObject['ports'][number] | undefined =>
  ports.find((candidate) => candidate.protocol === protocol && (typeof port === 'number' ? candidate.port === port : candidate.name === port));
