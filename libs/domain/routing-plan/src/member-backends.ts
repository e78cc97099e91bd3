import { backendName, byKey, DEFAULT_CAPACITY, memberBackendDigest, reportDigest, type BackendName, type MemberBackend } from '#domain/fleet';
import { compositePorts, findLocalPart, type CompositeBackendObject, type CompositePort, type EndpointSelectorObject, type LocalPart, type ServiceObject } from '#domain/gateway-api';

import { localEndpointFinder } from './local-endpoints.js';
import type { LocalObjects } from './local-objects.js';

/** A CompositeBackend with its local part, found. */
export interface LocalComposite {
  readonly composite: CompositeBackendObject;
  readonly part: LocalPart;
  readonly ports: readonly CompositePort[];
}

/**
 * What this cluster offers to the fleet: one entry for each CompositeBackend with a local part that exists, whether or not
 * a route of this cluster leads to it (R38). Sorted by name.
 */
export function memberBackends(objects: LocalObjects): readonly MemberBackend[] {
  const findEndpoints = localEndpointFinder(objects);
  return localComposites(objects).map(({ composite, part, ports }) => ({
    name: backendName(composite.meta.namespace, composite.meta.name),
    trafficClass: 'endpoints',
    // A Service's own affinity is not reported: no data plane keeps it yet, and parts would conflict over what nobody does.
    sessionAffinity: 'None',
    ports: ports.map(({ port, protocol }) => ({ port, protocol })),
    endpoints: findEndpoints(part, ports),
    capacity: composite.capacity ?? DEFAULT_CAPACITY,
  }));
}

/** The digest of everything that a cluster offers: what its heartbeat carries. */
export const memberBackendsDigest = (backends: readonly MemberBackend[]): string =>
  reportDigest(new Map<BackendName, string>(backends.map((backend) => [backend.name, memberBackendDigest(backend)])));

/** The CompositeBackends of a cluster that have a local part, sorted by name. One that is being deleted offers nothing. */
function localComposites(objects: Pick<LocalObjects, 'compositeBackends' | 'endpointSelectors' | 'services'>): readonly LocalComposite[] {
  const index = {
    selectors: new Map<string, EndpointSelectorObject>(objects.endpointSelectors.map((selector) => [`${selector.meta.namespace}/${selector.meta.name}`, selector])),
    services: new Map<string, ServiceObject>(objects.services.map((service) => [`${service.namespace}/${service.name}`, service])),
  };
  return [...objects.compositeBackends]
    .filter(({ meta }) => !meta.isDeleting)
    .sort(byKey(({ meta }) => `${meta.namespace}/${meta.name}`))
    .flatMap((composite) => {
      const part = findLocalPart(composite, index);
      return part === undefined ? [] : [{ composite, part, ports: compositePorts(composite, part) }];
    });
}
