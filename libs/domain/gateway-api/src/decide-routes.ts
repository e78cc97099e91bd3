import { byKey } from '#domain/fleet';

import { bindRoute, gatewayKeyOf, type RouteParent } from './bind-route.js';
import { bindServiceRoute, isMeshRoute, serviceKeyOf } from './bind-service-route.js';
import type { AcceptedListener, RouteDecision, RouteParentDecision } from './gateway-decisions.js';
import { CONTROLLER_NAME, objectKey } from './names.js';
import type { NamespaceObject, ParentRef, RouteObject } from './objects.js';
import { resolveBackendRefs, type BackendIndex, type ResolvedRoute } from './resolve-backend-refs.js';

/** What decides about routes. */
export interface RouteContext {
  /** The Gateways of ours, by key. */
  readonly parents: ReadonlyMap<string, RouteParent>;
  readonly namespaces: ReadonlyMap<string, NamespaceObject>;
  readonly index: BackendIndex;
}

/** A route that a listener, or a port of a Service, may serve, resolved. */
export interface AttachedRoute {
  readonly route: RouteObject;
  readonly isAccepted: boolean;
  readonly resolved: ResolvedRoute;
}

/** Routes by parent, then by listener, or port of a Service. */
export type Attachments = ReadonlyMap<string, ReadonlyMap<string, readonly AttachedRoute[]>>;

/** What is decided of all routes. */
export interface DecidedRoutes {
  readonly decisions: readonly RouteDecision[];
  /** By `namespace/name` of the Gateway, then by name of the listener. */
  readonly toGateways: Attachments;
  /** By parent key ({@link ServiceBinding}), then by number of the port. */
  readonly toServices: Attachments;
}

/** Decides every route that has to do with us, in the order of kind, namespace and name. */
export function decideRoutes(routes: readonly RouteObject[], context: RouteContext): DecidedRoutes {
  const toGateways = new Attacher();
  const toServices = new Attacher();
  const decisions = [...routes]
    .sort(byKey(routeKey))
    .filter(({ meta }) => !meta.isDeleting)
    .flatMap((route) => decideRoute(route, context, { toGateways, toServices }) ?? []);
  return { decisions, toGateways: toGateways.attachments(), toServices: toServices.attachments() };
}

/** What tells routes of all kinds apart. */
const routeKey = ({ kind, meta }: RouteObject): string => `${kind} ${objectKey(meta)}`;

/**
 * What the routes of a listener make it do. Gateway API: several routes on a TCP or UDP listener are all accepted, the
 * oldest one serves, then the first by name.
 */
export function serveRoutes(listener: Pick<AcceptedListener, 'name' | 'port' | 'protocol'>, routes: readonly AttachedRoute[]): AcceptedListener {
  const [oldest] = routes.filter(({ isAccepted }) => isAccepted).sort((a, b) => a.route.meta.createdAtMs - b.route.meta.createdAtMs || byKey<AttachedRoute>(({ route }) => objectKey(route.meta))(a, b));
  return { ...listener, targets: oldest?.resolved.targets ?? [], rejectWeight: oldest?.resolved.rejectWeight ?? 1 };
}

interface Attachers {
  readonly toGateways: Attacher;
  readonly toServices: Attacher;
}

/** Where a route is attached, and whether it may serve there. */
interface Binding {
  readonly decision: RouteParentDecision;
  readonly attach: (attachers: Attachers, entry: AttachedRoute) => void;
}

function decideRoute(route: RouteObject, context: RouteContext, attachers: Attachers): RouteDecision | undefined {
  const bindings = route.parentRefs.flatMap((ref, parentIndex) => bind(route, { ref, parentIndex }, context) ?? []);
  // A route that left us still carries our word, which must go.
  if (bindings.length === 0 && !route.parents.some(({ controllerName }) => controllerName === CONTROLLER_NAME)) return undefined;
  const resolved = resolveBackendRefs(route, context.index);
  for (const { decision, attach } of bindings) attach(attachers, { route, isAccepted: decision.accepted.ok, resolved });
  return { route, parents: bindings.map(({ decision }) => decision), resolvedRefs: resolved.verdict };
}

function bind(route: RouteObject, { ref, parentIndex }: { readonly ref: ParentRef; readonly parentIndex: number }, { parents, namespaces, index }: RouteContext): Binding | undefined {
  const serviceKey = serviceKeyOf(ref, route.meta.namespace);
  if (serviceKey !== undefined) {
    if (!isMeshRoute(route)) return undefined;
    const { accepted, ports, parentKey } = bindServiceRoute(route, ref, { key: serviceKey, service: index.services.get(serviceKey) });
    return { decision: { parentIndex, accepted }, attach: ({ toServices }, entry) => toServices.attach(parentKey, ports.map(String), entry) };
  }
  const gatewayKey = gatewayKeyOf(ref, route.meta.namespace) ?? '';
  const parent = parents.get(gatewayKey);
  if (parent === undefined) return undefined;
  const { accepted, attachedTo } = bindRoute(route, ref, parent, namespaces);
  return { decision: { parentIndex, accepted }, attach: ({ toGateways }, entry) => toGateways.attach(gatewayKey, attachedTo, entry) };
}

/** Gathers routes: one that is attached by two references counts once. */
class Attacher {
  readonly #parents = new Map<string, Map<string, Map<string, AttachedRoute>>>();

  attach(parentKey: string, listeners: readonly string[], entry: AttachedRoute): void {
    const byListener = this.#parents.get(parentKey) ?? new Map<string, Map<string, AttachedRoute>>();
    this.#parents.set(parentKey, byListener);
    for (const name of listeners) {
      const routes = byListener.get(name) ?? new Map<string, AttachedRoute>();
      byListener.set(name, routes);
      const key = routeKey(entry.route);
      routes.set(key, { ...entry, isAccepted: entry.isAccepted || routes.get(key)?.isAccepted === true });
    }
  }

  attachments(): Attachments {
    return new Map([...this.#parents].map(([parentKey, byListener]) => [parentKey, new Map([...byListener].map(([name, routes]) => [name, [...routes.values()]]))]));
  }
}
