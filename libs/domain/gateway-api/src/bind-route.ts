import type { Verdict } from './gateway-decisions.js';
import type { JudgedListener } from './judge-listeners.js';
import { matchesLabels } from './label-selector.js';
import { GATEWAY_API_GROUP, objectKey } from './names.js';
import type { GatewayObject, NamespaceObject, ParentRef, RouteObject } from './objects.js';
import { no, yes } from './verdict.js';

/** A Gateway and its listeners, as a route sees its parent. */
export interface RouteParent {
  readonly gateway: GatewayObject;
  readonly accepted: Verdict;
  readonly listeners: readonly JudgedListener[];
}

/** How a route stands with one parent. */
export interface RouteBinding {
  readonly accepted: Verdict;
  /** Names of the listeners that it is attached to, whether or not they can serve. */
  readonly attachedTo: readonly string[];
}

/** The key of the Gateway that a reference means, or undefined where it means something else. */
export function gatewayKeyOf(ref: ParentRef, routeNamespace: string): string | undefined {
  const isGateway = (ref.group ?? GATEWAY_API_GROUP) === GATEWAY_API_GROUP && (ref.kind ?? 'Gateway') === 'Gateway';
  return isGateway ? objectKey({ namespace: ref.namespace ?? routeNamespace, name: ref.name }) : undefined;
}

/** Binds a route to a parent by sectionName and port, and by what the listeners allow. */
export function bindRoute(route: RouteObject, ref: ParentRef, parent: RouteParent, namespaces: ReadonlyMap<string, NamespaceObject>): RouteBinding {
  const named = parent.listeners.filter(({ listener }) => isNamed(ref, listener));
  if (named.length === 0) return { accepted: no('NoMatchingParent', noMatchText(ref, parent)), attachedTo: [] };
  const allowing = named.filter((judged) => allowsRoute(judged, parent.gateway, route, namespaces));
  if (allowing.length === 0) return { accepted: no('NotAllowedByListeners', notAllowedText(named, route)), attachedTo: [] };
  return { accepted: judgeBinding(route, parent, allowing), attachedTo: allowing.map(({ listener }) => listener.name) };
}

const isNamed = (ref: ParentRef, { name, port }: { readonly name: string; readonly port: number }): boolean =>
  (ref.sectionName === undefined || ref.sectionName === name) && (ref.port === undefined || ref.port === port);

function allowsRoute({ listener, supportedKinds }: JudgedListener, gateway: GatewayObject, route: RouteObject, namespaces: ReadonlyMap<string, NamespaceObject>): boolean {
  if (!supportedKinds.some(({ kind }) => kind === route.kind)) return false;
  switch (listener.allowedFrom) {
    case 'All':
      return true;
    case 'Same':
      return route.meta.namespace === gateway.meta.namespace;
    case 'Selector': {
      const labels = namespaces.get(route.meta.namespace)?.labels;
      return listener.allowedSelector !== undefined && labels !== undefined && matchesLabels(listener.allowedSelector, labels);
    }
    case 'None':
      return false;
  }
}

function judgeBinding(route: RouteObject, parent: RouteParent, allowing: readonly JudgedListener[]): Verdict {
  if (route.rules.length !== 1) return no('UnsupportedValue', `A ${route.kind} has exactly one rule; this one has ${route.rules.length}.`);
  if (!parent.accepted.ok) return no('Pending', `Gateway "${parent.gateway.meta.name}" is not accepted: ${parent.accepted.message}`);
  if (allowing.some(({ accepted }) => accepted.ok)) return yes('Accepted', 'The route is accepted.');
  return no('Pending', `No listener that the route is attached to can serve: ${allowing.map(({ accepted }) => accepted.message).join(' ')}`);
}

function noMatchText(ref: ParentRef, { gateway, listeners }: RouteParent): string {
  const wanted = [ref.sectionName === undefined ? '' : `named "${ref.sectionName}"`, ref.port === undefined ? '' : `on port ${ref.port}`].filter((part) => part !== '');
  const offered = listeners.map(({ listener }) => `"${listener.name}" on port ${listener.port}`).join(', ');
  return `Gateway "${gateway.meta.name}" has no listener ${wanted.join(' ')}; it has ${offered === '' ? 'none' : offered}.`;
}

function notAllowedText(named: readonly JudgedListener[], route: RouteObject): string {
  const reasons = named.map(({ listener, supportedKinds }) =>
    supportedKinds.some(({ kind }) => kind === route.kind)
      ? `listener "${listener.name}" (allowedRoutes.namespaces.from ${listener.allowedFrom}) does not allow namespace "${route.meta.namespace}"`
      : `listener "${listener.name}" (${listener.protocol}) takes no ${route.kind}`,
  );
  return `No listener allows this route: ${reasons.join('; ')}.`;
}
