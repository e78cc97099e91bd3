import { byKey, type BackendName, type BackendPort, type ImportSet } from '#domain/fleet';

import { addressClaim, type ClassStanding } from './address-claims.js';
import type { RouteParent } from './bind-route.js';
import { keyOfSelector } from './composite-ports.js';
import { decideRoutes, serveRoutes, type AttachedRoute } from './decide-routes.js';
import { importFrontends, serviceFrontends } from './decide-services.js';
import type { AcceptedListener, GatewayDecision, GatewayDecisions, GatewayObjects, ListenerDecision, Verdict } from './gateway-decisions.js';
import { judgeComposite, judgeEndpointSelector } from './judge-composite.js';
import { judgeGateway } from './judge-gateway.js';
import { judgeListeners, type JudgedListener } from './judge-listeners.js';
import { CONTROLLER_NAME, objectKey } from './names.js';
import type { GatewayClassObject, GatewayObject, ObjectMeta, ReferenceGrantObject } from './objects.js';
import type { BackendIndex } from './resolve-backend-refs.js';
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
  const namespaces = new Map(objects.namespaces.map((namespace) => [namespace.name, namespace]));
  const routes = decideRoutes([...objects.tcpRoutes, ...objects.udpRoutes], { parents, namespaces, index });
  const decisions = [...parents.values()].map((parent) => decideGateway(parent, routes.toGateways.get(objectKey(parent.gateway.meta)) ?? new Map()));
  const frontends = [...serviceFrontends(routes.toServices, index.services), ...importFrontends(objects.serviceImports)];
  const used = new Set([...decisions.flatMap(servingListeners), ...frontends.flatMap(({ listeners }) => listeners)].flatMap(({ targets }) => targets).flatMap((target) => (target.kind === 'composite' ? [objectKey(target)] : [])));
  return {
    classes,
    gateways: decisions,
    routes: routes.decisions,
    otherFrontends: frontends,
    compositeBackends: sortedByMeta(objects.compositeBackends, ({ meta }) => meta).map((composite) => ({
      composite,
      resolvedRefs: judgeComposite(composite, index),
      isUsed: used.has(objectKey(composite.meta)),
    })),
    endpointSelectors: sortedByMeta(objects.endpointSelectors.filter(({ kind }) => kind === 'EndpointSelector'), ({ meta }) => meta).map((selector) => ({ selector, accepted: judgeEndpointSelector(selector) })),
    addressClaims: gateways.flatMap((gateway) => addressClaim(gateway, claimStanding(gateway, standingOf(gateway), parents)) ?? []),
  };
}

const sortedByMeta = <T>(values: readonly T[], metaOf: (value: T) => ObjectMeta): readonly T[] => [...values].sort(byKey((value) => objectKey(metaOf(value))));

const servingListeners = ({ listeners }: GatewayDecision): readonly AcceptedListener[] => listeners.flatMap(({ serving }) => serving ?? []);

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
    selectors: new Map(objects.endpointSelectors.map((object) => [keyOfSelector(object), object])),
    services: new Map(objects.services.map((object) => [objectKey(object), object])),
    imports: new Map(objects.serviceImports.map((object) => [objectKey(object.meta), object])),
    grants,
    fleetPorts: ports,
  };
}

function decideGateway(parent: RouteParent, attached: ReadonlyMap<string, readonly AttachedRoute[]>): GatewayDecision {
  return {
    gateway: parent.gateway,
    accepted: parent.accepted,
    listeners: parent.listeners.map((judged) => decideListener(judged, parent.accepted, attached.get(judged.listener.name) ?? [])),
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
    serving: protocol === undefined || !gatewayAccepted.ok ? undefined : serveRoutes({ name: listener.name, port: listener.port, protocol }, routes),
  };
}
