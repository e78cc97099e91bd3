import type { DeclaredCapacity, NamespacedName, Protocol, SessionAffinity } from '#domain/fleet';

import type { Condition } from './conditions.js';
import type { LabelSelector } from './label-selector.js';

/** What rules need of any object's metadata. */
export interface ObjectMeta extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAtMs: number;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

/** A GatewayClass; its namespace is empty. */
export interface GatewayClassObject {
  readonly meta: ObjectMeta;
  readonly controllerName: string;
  readonly hasParameters: boolean;
  readonly conditions: readonly Condition[];
}

/** A Gateway of any class. */
export interface GatewayObject {
  readonly meta: ObjectMeta;
  readonly className: string;
  readonly hasParameters: boolean;
  readonly addresses: readonly GatewayAddress[];
  readonly listeners: readonly GatewayListener[];
  readonly status: GatewayStatus;
}

/** A requested or assigned address. An empty value asks for any. */
export interface GatewayAddress {
  readonly type: string;
  readonly value: string;
  /** From where it can be reached (GEP-5093); undefined where nothing is said, and wherever the installed definition prunes it. */
  readonly routability?: string | undefined;
}

/** A Gateway's status as it stands. */
export interface GatewayStatus {
  readonly addresses: readonly GatewayAddress[];
  readonly conditions: readonly Condition[];
  readonly listeners: readonly ListenerStatus[];
}

/** A listener's part of a Gateway's status. */
export interface ListenerStatus {
  readonly name: string;
  readonly attachedRoutes: number;
  readonly supportedKinds: readonly RouteKind[];
  readonly conditions: readonly Condition[];
}

/** One listener of a Gateway. */
export interface GatewayListener {
  readonly name: string;
  readonly port: number;
  /** As written: TCP, HTTP, example.com/mine… */
  readonly protocol: string;
  readonly hostname: string;
  readonly allowedFrom: 'All' | 'Same' | 'Selector' | 'None';
  readonly allowedSelector: LabelSelector | undefined;
  /** Empty: whatever suits the protocol. */
  readonly allowedKinds: readonly RouteKind[];
}

/** A kind of route. */
export interface RouteKind {
  readonly group: string;
  readonly kind: string;
}

/** The kinds of route that this class serves; one shape for both. */
export type ServedRouteKind = 'TCPRoute' | 'UDPRoute';

/** A TCPRoute or UDPRoute. */
export interface RouteObject {
  readonly kind: ServedRouteKind;
  readonly meta: ObjectMeta;
  readonly parentRefs: readonly ParentRef[];
  readonly rules: readonly RouteRule[];
  /** status.parents, other controllers' entries too. */
  readonly parents: readonly RouteParentStatus[];
}

/** A rule: where connections go. */
export interface RouteRule {
  readonly backendRefs: readonly BackendRef[];
}

/** Whom a route attaches to; defaults are not filled in, since status repeats the reference as it was written. */
export interface ParentRef {
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly sectionName?: string | undefined;
  readonly port?: number | undefined;
}

/** One controller's word about one parent of a route. */
export interface RouteParentStatus {
  readonly parentRef: ParentRef;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

/** A weighted reference to a backend, defaults filled in. */
export interface BackendRef {
  readonly group: string;
  readonly kind: string;
  /** The route's own where the reference names none. */
  readonly namespace: string;
  readonly name: string;
  readonly port: number | undefined;
  readonly weight: number;
}

/** A ReferenceGrant: lives in the namespace of what may be referred to. */
export interface ReferenceGrantObject {
  readonly meta: ObjectMeta;
  readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
  /** An empty name grants every object of the kind. */
  readonly to: readonly { readonly group: string; readonly kind: string; readonly name: string }[];
}

/** A Namespace, for listeners that select by its labels. */
export interface NamespaceObject {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** An EndpointSelector of ours, or the prototype's of the same meaning (XEndpointSelector, which lists no ports). */
export interface EndpointSelectorObject {
  readonly kind: 'EndpointSelector' | 'XEndpointSelector';
  readonly meta: ObjectMeta;
  readonly selector: LabelSelector;
  readonly ports: readonly SelectorPort[];
  readonly conditions: readonly Condition[];
}

/** A port of selected pods: a number, or the name of a container's port. */
export interface SelectorPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly targetPort: number | string;
}

/** A CompositeBackend. */
export interface CompositeBackendObject {
  readonly meta: ObjectMeta;
  readonly backendRef: { readonly group: string; readonly kind: string; readonly name: string } | undefined;
  readonly ports: readonly CompositePort[];
  readonly capacity: DeclaredCapacity | undefined;
  /** Undefined: what a Service as local part says, else none. */
  readonly affinity: CompositeAffinity | undefined;
  /** Undefined: what a Service as local part says, else none. */
  readonly trafficDistribution: TrafficPreference | 'None' | undefined;
  readonly publishNotReadyAddresses: boolean;
  readonly conditions: readonly Condition[];
  readonly members: MemberCounts | undefined;
}

/** What a CompositeBackend says of stickiness, None included. */
export interface CompositeAffinity {
  readonly affinity: SessionAffinity;
  readonly timeoutSeconds: number;
}

/** A port of a CompositeBackend and where it leads in this cluster. */
export interface CompositePort {
  readonly port: number;
  readonly protocol: Protocol;
  readonly targetPort: number | string;
}

/** Member clusters of a backend, and those of them with a ready endpoint. */
export interface MemberCounts {
  readonly total: number;
  readonly serving: number;
}

/** A ServiceImport of the clusterset (KEP-1645). */
export interface ServiceImportObject {
  readonly meta: ObjectMeta;
  readonly type: 'ClusterSetIP' | 'Headless';
  /** Canonical clusterset addresses; empty for headless ones. */
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  readonly affinity: ServiceAffinity | undefined;
  readonly trafficDistribution: TrafficPreference | undefined;
}

/** Which endpoints callers prefer, as on a Service (KEP-3015); PreferClose is an older word for PreferSameZone. */
export type TrafficPreference = 'PreferSameZone' | 'PreferSameNode';

/** Stickiness as a Service says it: a client's connections go to one endpoint. */
export interface ServiceAffinity {
  /** Since the client's last connection. */
  readonly timeoutSeconds: number;
}

/** A core Service: its back end, and what a route may take over of its front end (R15). */
export interface ServiceObject extends NamespacedName {
  readonly type: string;
  /** Canonical ClusterIPs; empty for headless and ExternalName. */
  readonly clusterIps: readonly string[];
  /** Undefined: none. */
  readonly affinity: ServiceAffinity | undefined;
  readonly trafficDistribution: TrafficPreference | undefined;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}
