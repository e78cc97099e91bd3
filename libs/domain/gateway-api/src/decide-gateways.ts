import { byKey, type BackendName, type BackendPort, type ImportSet } from '#domain/fleet';

import { addressClaim, type ClassStanding } from './address-claims.js';
import { bindRoute, gatewayKeyOf, type RouteParent } from './bind-route.js';
import { judgeGateway } from './judge-gateway.js';
import type {
  AcceptedListener,
  GatewayDecision,
  GatewayDecisions,
  GatewayObjects,
  ListenerDecision,
  RouteDecision,
  RouteParentDecision,
  RouteTarget,
  Verdict,
} from './gateway-decisions.js';
import { judgeComposite, judgeEndpointSelector } from './judge-composite.js';
import { judgeListeners, type JudgedListener } from './judge-listeners.js';
import { CONTROLLER_NAME, objectKey } from './names.js';
import type { GatewayClassObject, GatewayObject, NamespaceObject, ObjectMeta, ReferenceGrantObject, TcpRouteObject } from './objects.js';
import { resolveBackendRefs, type BackendIndex, type ResolvedRoute } from './resolve-backend-refs.js';
import { no, yes } from './verdict.js';

/** Ports that the rest of the fleet offers, by `namespace/name` of the CompositeBackend. */
export type FleetPorts = ReadonlyMap<string, readonly BackendPort[]>;

/** The ports of an import set; nothing before the hub has said anything. */
export const fleetPorts = (imports: ImportSet | undefined): FleetPorts =>
  new Map<BackendName, readonly BackendPort[]>((imports?.backends ?? []).map(({ name, ports }) => [name, ports.map(({ port }) => port)]));

/** Decides everything that a cluster's Gateway objects decide by themselves (specs: Gateway API v1; R1, R9–R16). */
export function decideGateways(objects: GatewayObjects, ports: FleetPorts = new Map()): GatewayDecisions {
  const classes = sortedByMeta(objects.classes, ({ meta }) => meta)
    .filter(({ controllerName }) => controllerName === CONTROLLER_NAME)
    .map((gatewayClass) => ({ gatewayClass, accepted: judgeClass(gatewayClass) }));
  const standingOf = classStandings(objects, classes);
  const gateways = sortedByMeta(objects.gateways, ({ meta }) => meta);
  const parents = new Map(gateways.flatMap((gateway) => parentOf(gateway, standingOf(gateway)) ?? []));
  const index = backendIndex(objects, ports);
  const routes = decideRoutes(objects, parents, index);
  const decisions = [...parents.values()].map((parent) => decideGateway(parent, routes.attached.get(objectKey(parent.gateway.meta)) ?? new Map()));
  const used = new Set(decisions.flatMap(targetsOf).flatMap((target) => (target.kind === 'composite' ? [objectKey(target)] : [])));
  return {
    classes,
    gateways: decisions,
    routes: routes.decisions,
    compositeBackends: sortedByMeta(objects.compositeBackends, ({ meta }) => meta).map((composite) => ({
      composite,
      resolvedRefs: judgeComposite(composite, index),
      isUsed: used.has(objectKey(composite.meta)),
    })),
    endpointSelectors: sortedByMeta(objects.endpointSelectors, ({ meta }) => meta).map((selector) => ({ selector, accepted: judgeEndpointSelector(selector) })),
    addressClaims: gateways.flatMap((gateway) => addressClaim(gateway, claimStanding(gateway, standingOf(gateway), parents)) ?? []),
  };
}

const sortedByMeta = <T>(values: readonly T[], metaOf: (value: T) => ObjectMeta): readonly T[] => [...values].sort(byKey((value) => objectKey(metaOf(value))));

const targetsOf = ({ listeners }: GatewayDecision): readonly RouteTarget[] => listeners.flatMap(({ serving }) => serving?.targets ?? []);

const judgeClass = ({ hasParameters }: GatewayClassObject): Verdict =>
  hasParameters ? no('InvalidParameters', 'This class takes no parameters; remove parametersRef.') : yes('Accepted', 'The class is served by Spillway.');

function classStandings(objects: GatewayObjects, ours: GatewayDecisions['classes']): (gateway: GatewayObject) => ClassStanding {
  const verdicts = new Map(ours.map(({ gatewayClass, accepted }) => [gatewayClass.meta.name, accepted]));
  const known = new Set(objects.classes.map(({ meta }) => meta.name));
  return ({ className }) => {
    const accepted = verdicts.get(className);
    if (accepted !== undefined) return { kind: 'ours', accepted };
    return { kind: known.has(className) ? 'foreign' : 'missing' };
  };
}

function parentOf(gateway: GatewayObject, standing: ClassStanding): readonly [string, RouteParent][] | undefined {
  // R1: what is not of our class, or is on its way out, is left alone.
  if (standing.kind !== 'ours' || gateway.meta.isDeleting) return undefined;
  const listeners = judgeListeners(gateway);
  return [[objectKey(gateway.meta), { gateway, listeners, accepted: judgeGateway(gateway, standing.accepted, listeners) }]];
}

function claimStanding(gateway: GatewayObject, standing: ClassStanding, parents: ReadonlyMap<string, RouteParent>): ClassStanding {
  const parent = parents.get(objectKey(gateway.meta));
  return parent === undefined ? standing : { kind: 'ours', accepted: parent.accepted };
}

function backendIndex(objects: GatewayObjects, ports: FleetPorts): BackendIndex {
  const grants = new Map<string, ReferenceGrantObject[]>();
  for (const grant of objects.referenceGrants.filter(({ meta }) => !meta.isDeleting)) {
    grants.set(grant.meta.namespace, [...(grants.get(grant.meta.namespace) ?? []), grant]);
  }
  return {
    composites: new Map(objects.compositeBackends.map((object) => [objectKey(object.meta), object])),
    selectors: new Map(objects.endpointSelectors.map((object) => [objectKey(object.meta), object])),
    services: new Map(objects.services.map((object) => [objectKey(object), object])),
    grants,
    fleetPorts: ports,
  };
}

/** A route that a listener may serve, resolved. */
interface AttachedRoute {
  readonly route: TcpRouteObject;
  readonly isAccepted: boolean;
  readonly resolved: ResolvedRoute;
}

/** By Gateway, by listener, by route: a route attached by two references counts once. */
type Attachments = Map<string, Map<string, Map<string, AttachedRoute>>>;

function decideRoutes(
  objects: GatewayObjects,
  parents: ReadonlyMap<string, RouteParent>,
  index: BackendIndex,
): { readonly decisions: readonly RouteDecision[]; readonly attached: Attachments } {
  const namespaces = new Map(objects.namespaces.map((namespace) => [namespace.name, namespace]));
  const attached: Attachments = new Map();
  const decisions = sortedByMeta(objects.tcpRoutes, ({ meta }) => meta)
    .filter(({ meta }) => !meta.isDeleting)
    .flatMap((route) => decideRoute(route, { parents, namespaces, index, attached }) ?? []);
  return { decisions, attached };
}

interface RouteContext {
  readonly parents: ReadonlyMap<string, RouteParent>;
  readonly namespaces: ReadonlyMap<string, NamespaceObject>;
  readonly index: BackendIndex;
  readonly attached: Attachments;
}

function decideRoute(route: TcpRouteObject, { parents, namespaces, index, attached }: RouteContext): RouteDecision | undefined {
  const ours = route.parentRefs.flatMap((ref, parentIndex) => {
    const parent = parents.get(gatewayKeyOf(ref, route.meta.namespace) ?? '');
    return parent === undefined ? [] : [{ ref, parentIndex, parent }];
  });
  // A route that left us still carries our word, which must go.
  if (ours.length === 0 && !route.parents.some(({ controllerName }) => controllerName === CONTROLLER_NAME)) return undefined;
  const resolved = resolveBackendRefs(route, index);
  const decided = ours.map(({ ref, parentIndex, parent }): RouteParentDecision => {
    const binding = bindRoute(route, ref, parent, namespaces);
    attach(attached, objectKey(parent.gateway.meta), binding.attachedTo, { route, isAccepted: binding.accepted.ok, resolved });
    return { parentIndex, accepted: binding.accepted };
  });
  return { route, parents: decided, resolvedRefs: resolved.verdict };
}

function attach(attached: Attachments, gatewayKey: string, listeners: readonly string[], entry: AttachedRoute): void {
  const byListener = attached.get(gatewayKey) ?? new Map<string, Map<string, AttachedRoute>>();
  attached.set(gatewayKey, byListener);
  for (const name of listeners) {
    const routes = byListener.get(name) ?? new Map<string, AttachedRoute>();
    byListener.set(name, routes);
    const key = objectKey(entry.route.meta);
    routes.set(key, { ...entry, isAccepted: entry.isAccepted || routes.get(key)?.isAccepted === true });
  }
}

function decideGateway(parent: RouteParent, attached: ReadonlyMap<string, ReadonlyMap<string, AttachedRoute>>): GatewayDecision {
  return {
    gateway: parent.gateway,
    accepted: parent.accepted,
    listeners: parent.listeners.map((judged) => decideListener(judged, parent.accepted, [...(attached.get(judged.listener.name)?.values() ?? [])])),
  };
}

function decideListener(judged: JudgedListener, gatewayAccepted: Verdict, routes: readonly AttachedRoute[]): ListenerDecision {
  const { listener, accepted, unconflicted, resolvedRefs, supportedKinds, protocol } = judged;
  return {
    name: listener.name,
    port: listener.port,
    accepted,
    unconflicted,
    resolvedRefs,
    supportedKinds,
    attachedRoutes: routes.length,
    serving: protocol === undefined || !gatewayAccepted.ok ? undefined : serve({ name: listener.name, port: listener.port, protocol }, routes),
  };
}

function serve(listener: Pick<AcceptedListener, 'name' | 'port' | 'protocol'>, routes: readonly AttachedRoute[]): AcceptedListener {
  // Gateway API: several routes on a TCP listener are all accepted, the oldest one serves.
  const [oldest] = routes.filter(({ isAccepted }) => isAccepted).sort((a, b) => a.route.meta.createdAtMs - b.route.meta.createdAtMs || byKey<AttachedRoute>(({ route }) => objectKey(route.meta))(a, b));
  return { ...listener, targets: oldest?.resolved.targets ?? [], rejectWeight: oldest?.resolved.rejectWeight ?? 1 };
}
