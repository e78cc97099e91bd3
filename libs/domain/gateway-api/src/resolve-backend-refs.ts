import type { BackendPort, Protocol } from '#domain/fleet';

import { compositePorts, findLocalPart, isServiceRef, selectorKey, selectorKindOf, selectorTarget, type LocalPartIndex } from './composite-ports.js';
import type { RouteTarget, Verdict } from './gateway-decisions.js';
import { GATEWAY_API_GROUP, MCS_GROUP, SPILLWAY_GROUP } from './names.js';
import type { BackendRef, CompositeBackendObject, EndpointSelectorObject, ReferenceGrantObject, RouteObject, ServiceImportObject, ServiceObject, ServedRouteKind } from './objects.js';
import { no, yes } from './verdict.js';

/** Where references are looked up. */
export interface BackendIndex extends LocalPartIndex {
  readonly composites: ReadonlyMap<string, CompositeBackendObject>;
  readonly imports: ReadonlyMap<string, ServiceImportObject>;
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

/** What each kind of route speaks. */
const PROTOCOLS: Readonly<Record<ServedRouteKind, Protocol>> = { TCPRoute: 'TCP', UDPRoute: 'UDP' };

/** A reference, and what must be spoken there. */
interface WantedRef {
  readonly ref: BackendRef;
  readonly protocol: Protocol;
}

type Resolution = { readonly ok: true; readonly target: Omit<RouteTarget, 'weight'> } | ({ readonly ok: false } & Verdict);

/** Resolves every backendRef of a route. One that leads nowhere keeps its exact weight, to be refused actively (R12). */
export function resolveBackendRefs(route: RouteObject, index: BackendIndex): ResolvedRoute {
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

function resolve(ref: BackendRef, route: RouteObject, index: BackendIndex): Resolution {
  // Before anything else: an ungranted reference must not tell whether its object exists.
  if (ref.namespace !== route.meta.namespace && !isGranted(ref, route, index)) {
    return unresolved('RefNotPermitted', `${nameOf(ref)} is in another namespace, and no ReferenceGrant there permits ${route.kind}s of namespace "${route.meta.namespace}".`);
  }
  const key = `${ref.namespace}/${ref.name}`;
  const wanted = { ref, protocol: PROTOCOLS[route.kind] };
  const selectorKind = selectorKindOf(ref);
  if (isCompositeRef(ref)) return resolveComposite(wanted, index.composites.get(key), index);
  if (selectorKind !== undefined) return resolveSelector(wanted, index.selectors.get(selectorKey({ ...ref, kind: selectorKind })));
  if (isServiceRef(ref)) return resolveService(wanted, index.services.get(key));
  if (isImportRef(ref)) return resolveImport(wanted, index.imports.get(key));
  return unresolved('InvalidKind', `${nameOf(ref)} (group "${ref.group}") is no backend of this class; name a CompositeBackend, an EndpointSelector, a Service or a ServiceImport.`);
}

const unresolved = (reason: string, message: string): Resolution => ({ ok: false, reason, message });
const nameOf = ({ kind, namespace, name }: BackendRef): string => `${kind} "${namespace}/${name}"`;
const isCompositeRef = (ref: BackendRef): boolean => ref.group === SPILLWAY_GROUP && ref.kind === 'CompositeBackend';
const isImportRef = (ref: BackendRef): boolean => ref.group === MCS_GROUP && ref.kind === 'ServiceImport';
const found = (kind: RouteTarget['kind'], { ref: { namespace, name }, protocol }: WantedRef, port: number): Resolution => ({ ok: true, target: { kind, namespace, name, port: { port, protocol } } });

function isGranted(ref: BackendRef, route: RouteObject, { grants }: BackendIndex): boolean {
  return (grants.get(ref.namespace) ?? []).some(
    ({ from, to }) =>
      from.some(({ group, kind, namespace }) => group === GATEWAY_API_GROUP && kind === route.kind && namespace === route.meta.namespace) &&
      to.some(({ group, kind, name }) => group === ref.group && kind === ref.kind && (name === '' || name === ref.name)),
  );
}

function resolveComposite({ ref, protocol: spoken }: WantedRef, composite: CompositeBackendObject | undefined, index: BackendIndex): Resolution {
  if (composite === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} does not exist; create it, with no backendRef of its own if only other clusters answer.`);
  const local = compositePorts(composite, findLocalPart(composite, index)).map(({ port, protocol }) => ({ port, protocol }));
  const known = [...local, ...(index.fleetPorts.get(`${ref.namespace}/${ref.name}`) ?? [])];
  const offered = [...new Set(known.filter(({ protocol }) => protocol === spoken).map(({ port }) => port))].sort((a, b) => a - b);
  const port = ref.port ?? (offered.length === 1 ? offered[0] : undefined);
  if (port === undefined) return unresolved('BackendNotFound', `The reference to ${nameOf(ref)} must name a port; it offers ${listPorts(offered)}.`);
  // Where nothing is known of any port (no local part, and no word from the hub yet), the port may still turn up.
  if (known.length > 0 && !offered.includes(port)) return unresolved('BackendNotFound', `${nameOf(ref)} has no ${spoken} port ${port} in any member; it offers ${listPorts(offered)}.`);
  return found('composite', { ref, protocol: spoken }, port);
}

function resolveSelector({ ref, protocol: spoken }: WantedRef, selector: EndpointSelectorObject | undefined): Resolution {
  if (selector === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} does not exist.`);
  const numbers = selector.ports.flatMap(({ targetPort, protocol }) => (typeof targetPort === 'number' && protocol === spoken ? [targetPort] : []));
  const port = ref.port ?? (selector.ports.length === 1 ? numbers[0] : undefined);
  if (port === undefined) return unresolved('BackendNotFound', `The reference to ${nameOf(ref)} must name a port.`);
  if (selectorTarget(selector, port, spoken) === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} has no ${spoken} port ${port}; it lists ${listPorts(numbers)}.`);
  return found(selector.kind === 'XEndpointSelector' ? 'x-selector' : 'selector', { ref, protocol: spoken }, port);
}

function resolveService(wanted: WantedRef, service: ServiceObject | undefined): Resolution {
  const { ref } = wanted;
  if (service === undefined) return unresolved('BackendNotFound', `${nameOf(ref)} does not exist.`);
  if (service.type === 'ExternalName') return unresolved('BackendNotFound', `${nameOf(ref)} is an ExternalName: it has no endpoints.`);
  return resolvePort('service', wanted, service.ports);
}

// R16: a ServiceImport means the endpoints of the whole clusterset.
function resolveImport(wanted: WantedRef, serviceImport: ServiceImportObject | undefined): Resolution {
  if (serviceImport === undefined) return unresolved('BackendNotFound', `${nameOf(wanted.ref)} does not exist.`);
  return resolvePort('import', wanted, serviceImport.ports);
}

function resolvePort(kind: 'service' | 'import', wanted: WantedRef, offered: ServiceObject['ports']): Resolution {
  const { ref, protocol: spoken } = wanted;
  if (ref.port === undefined) return unresolved('BackendNotFound', `The reference to ${nameOf(ref)} must name a port.`);
  const ports = offered.filter(({ port }) => port === ref.port);
  if (ports.length === 0) return unresolved('BackendNotFound', `${nameOf(ref)} has no port ${ref.port}; it has ${listPorts(offered.map(({ port }) => port))}.`);
  if (!ports.some(({ protocol }) => protocol === spoken)) return unresolved('UnsupportedProtocol', `Port ${ref.port} of ${nameOf(ref)} is not ${spoken}.`);
  return found(kind, wanted, ref.port);
}

const listPorts = (ports: readonly number[]): string => (ports.length === 0 ? 'none' : ports.join(', '));
