import type { BackendPort } from '#domain/fleet';

import { compositePorts, findLocalPart, isSelectorRef, isServiceRef, selectorTarget, type LocalPartIndex } from './composite-ports.js';
import type { RouteTarget, Verdict } from './gateway-decisions.js';
import { GATEWAY_API_GROUP, SPILLWAY_GROUP } from './names.js';
import type { BackendRef, CompositeBackendObject, EndpointSelectorObject, ReferenceGrantObject, ServiceObject, TcpRouteObject } from './objects.js';
import { no, yes } from './verdict.js';

/** Where references are looked up. */
export interface BackendIndex extends LocalPartIndex {
  readonly composites: ReadonlyMap<string, CompositeBackendObject>;
  /** By the namespace that they open. */
  readonly grants: ReadonlyMap<string, readonly ReferenceGrantObject[]>;
  /** Ports that the rest of the fleet offers of a CompositeBackend. */
  readonly fleetPorts: ReadonlyMap<string, readonly BackendPort[]>;
}

/** Where a route's connections go. */
export interface ResolvedRoute {
  readonly targets: readonly RouteTarget[];
  readonly rejectWeight: number;
  readonly verdict: Verdict;
}

type Resolution = { readonly ok: true; readonly target: Omit<RouteTarget, 'weight'> } | ({ readonly ok: false } & Verdict);

/** Resolves every backendRef of a route. One that leads nowhere keeps its exact weight, to be refused actively (R12). */
export function resolveBackendRefs(route: TcpRouteObject, index: BackendIndex): ResolvedRoute {
  const refs = route.rules.flatMap(({ backendRefs }) => backendRefs);
  const resolved = refs.map((ref) => ({ ref, resolution: resolve(ref, route, index) }));
  const targets = resolved.flatMap(({ ref, resolution }) => (resolution.ok && ref.weight > 0 ? [{ ...resolution.target, weight: ref.weight }] : []));
  const rejectWeight = resolved.reduce((sum, { ref, resolution }) => sum + (resolution.ok ? 0 : ref.weight), 0);
  const failures = resolved.flatMap(({ resolution }) => (resolution.ok ? [] : [resolution]));
  const [first] = failures;
  return {
    targets,
    // No reference at all, or only weightless ones: every connection is refused.
    rejectWeight: targets.length === 0 && rejectWeight === 0 ? 1 : rejectWeight,
    verdict: first === undefined ? yes('ResolvedRefs', 'All references are resolved.') : no(first.reason, failures.map(({ message }) => message).join(' ')),
  };
}

function resolve(ref: BackendRef, route: TcpRouteObject, index: BackendIndex): Resolution {
  // Before anything else: an ungranted reference must not tell whether its object exists.
  if (ref.namespace !== route.meta.namespace && !isGranted(ref, route, index)) {
    return unresolved('RefNotPermitted', `${nameOf(ref)} is in another namespace, and no ReferenceGrant there permits TCPRoutes of namespace "${route.meta.namespace}".`);
  }
  const key = `${ref.namespace}/${ref.name}`;
  if (isCompositeRef(ref)) return resolveComposite(ref, index.composites.get(key), index);
  if (isSelectorRef(ref)) return resolveSelector(ref, index.selectors.get(key));
  if (isServiceRef(ref)) return resolveService(ref, index.services.get(key));
  return unresolved('InvalidKind', `${nameOf(ref)} (group "${ref.group}") is no backend of this class; name a CompositeBackend, an EndpointSelector or a Service.`);
}

const unresolved = (reason: string, message: string): Resolution => ({ ok: false, reason, message });
const nameOf = ({ kind, namespace, name }: BackendRef): string => `${kind} "${namespace}/${name}"`;
const isCompositeRef = (ref: BackendRef): boolean => ref.group === SPILLWAY_GROUP && ref.kind === 'CompositeBackend';
const found = (kind: RouteTarget['kind'], { namespace, name }: BackendRef, port: number): Resolution => ({
  ok: true,
  target: { kind, namespace, name, port: { port, protocol: 'TCP' } },
});

function isGranted(ref: BackendRef, route: TcpRouteObject, { grants }: BackendIndex): boolean {
  return (grants.get(ref.namespace) ?? []).some(
    ({ from, to }) =>
      from.some(({ group, kind, namespace }) => group === GATEWAY_API_GROUP && kind === 'TCPRoute' && namespace === route.meta.namespace) &&
      to.some(({ group, kind, name }) => group === ref.group && kind === ref.kind && (name === '' || name === ref.name)),
  );
}

function resolveComposite(ref: BackendRef, composite: CompositeBackendObject | undefined, index: BackendIndex): Resolution {
  if (composite === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} does not exist; create it, with no backendRef of its own if only other clusters answer.`);
  const local = compositePorts(composite, findLocalPart(composite, index)).map(({ port, protocol }) => ({ port, protocol }));
  const known = [...local, ...(index.fleetPorts.get(`${ref.namespace}/${ref.name}`) ?? [])].filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port);
  const offered = [...new Set(known)].sort((a, b) => a - b);
  const port = ref.port ?? (offered.length === 1 ? offered[0] : undefined);
  if (port === undefined) return unresolved('BackendNotFound', `The reference to ${nameOf(ref)} must name a port; it offers ${listPorts(offered)}.`);
  // Where nothing is known of any port (no local part, and no word from the hub yet), the port may still turn up.
  if (offered.length > 0 && !offered.includes(port)) return unresolved('BackendNotFound', `${nameOf(ref)} has no TCP port ${port} in any member; it offers ${listPorts(offered)}.`);
  return found('composite', ref, port);
}

function resolveSelector(ref: BackendRef, selector: EndpointSelectorObject | undefined): Resolution {
  if (selector === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} does not exist.`);
  const numbers = selector.ports.flatMap(({ targetPort, protocol }) => (typeof targetPort === 'number' && protocol === 'TCP' ? [targetPort] : []));
  const port = ref.port ?? (selector.ports.length === 1 ? numbers[0] : undefined);
  if (port === undefined) return unresolved('BackendNotFound', `The reference to ${nameOf(ref)} must name a port.`);
  if (selectorTarget(selector, port, 'TCP') === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} has no TCP port ${port}; it lists ${listPorts(numbers)}.`);
  return found('selector', ref, port);
}

function resolveService(ref: BackendRef, service: ServiceObject | undefined): Resolution {
  if (service === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} does not exist.`);
  if (service.type === 'ExternalName') return unresolved('BackendNotFound', `${nameOf(ref)} is an ExternalName: it has no endpoints.`);
  if (ref.port === undefined) return unresolved('BackendNotFound', `The reference to ${nameOf(ref)} must name a port.`);
  const ports = service.ports.filter(({ port }) => port === ref.port);
  if (ports.length === 0) return unresolved('BackendNotFound', `${nameOf(ref)} has no port ${ref.port}; it has ${listPorts(service.ports.map(({ port }) => port))}.`);
  if (!ports.some(({ protocol }) => protocol === 'TCP')) return unresolved('UnsupportedProtocol', `Port ${ref.port} of ${nameOf(ref)} is not TCP.`);
  return found('service', ref, ref.port);
}

const listPorts = (ports: readonly number[]): string => (ports.length === 0 ? 'none' : ports.join(', '));
