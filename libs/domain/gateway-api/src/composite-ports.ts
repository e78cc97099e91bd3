import type { Lookup, Protocol } from '#domain/fleet';

import { SPILLWAY_GROUP } from './names.js';
import type { CompositeBackendObject, CompositePort, EndpointSelectorObject, ServiceObject } from './objects.js';

/** The local part of a CompositeBackend, found. */
export type LocalPart =
  | { readonly kind: 'selector'; readonly selector: EndpointSelectorObject }
  | { readonly kind: 'service'; readonly service: ServiceObject };

/** Where local parts are looked up, by `namespace/name`. */
export interface LocalPartIndex {
  readonly selectors: Lookup<EndpointSelectorObject>;
  readonly services: Lookup<ServiceObject>;
}

/** The local part that a CompositeBackend names, where it exists and is of a kind that we serve. */
export function findLocalPart({ meta, backendRef }: CompositeBackendObject, index: LocalPartIndex): LocalPart | undefined {
  if (backendRef === undefined) return undefined;
  const key = `${meta.namespace}/${backendRef.name}`;
  if (isSelectorRef(backendRef)) {
    const selector = index.selectors.get(key);
    return selector === undefined ? undefined : { kind: 'selector', selector };
  }
  if (!isServiceRef(backendRef)) return undefined;
  const service = index.services.get(key);
  return service === undefined ? undefined : { kind: 'service', service };
}

/** Whether a reference means an EndpointSelector. */
export const isSelectorRef = (ref: { readonly group: string; readonly kind: string }): boolean => ref.group === SPILLWAY_GROUP && ref.kind === 'EndpointSelector';
/** Whether a reference means a Service. */
export const isServiceRef = (ref: { readonly group: string; readonly kind: string }): boolean => ref.group === '' && ref.kind === 'Service';

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
