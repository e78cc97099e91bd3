import type { AddressClaim } from '#domain/addresses';
import type { BackendPort, NamespacedName, Protocol } from '#domain/fleet';

import type {
  CompositeBackendObject,
  EndpointSelectorObject,
  GatewayClassObject,
  GatewayObject,
  NamespaceObject,
  ReferenceGrantObject,
  RouteObject,
  ServiceImportObject,
  ServiceObject,
} from './objects.js';

/** The objects of one cluster that decide what its Gateways do. Every list must come from a source that has finished its first list. */
export interface GatewayObjects {
  readonly classes: readonly GatewayClassObject[];
  readonly gateways: readonly GatewayObject[];
  readonly tcpRoutes: readonly RouteObject[];
  readonly udpRoutes: readonly RouteObject[];
  readonly referenceGrants: readonly ReferenceGrantObject[];
  readonly namespaces: readonly NamespaceObject[];
  readonly compositeBackends: readonly CompositeBackendObject[];
  readonly endpointSelectors: readonly EndpointSelectorObject[];
  readonly services: readonly ServiceObject[];
  readonly serviceImports: readonly ServiceImportObject[];
}

/** The kinds of backend that a reference may lead to: what the plan must look up. */
export type RouteTargetKind = 'composite' | 'selector' | 'x-selector' | 'service' | 'import';

/** A reference that leads to a backend, resolved. */
export interface RouteTarget extends NamespacedName {
  readonly kind: RouteTargetKind;
  readonly port: BackendPort;
  /** At least 1. */
  readonly weight: number;
}

/** A listener that serves: where its connections go. Without targets and reject weight 1 it refuses every connection. */
export interface AcceptedListener {
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly targets: readonly RouteTarget[];
  /** Weight of references that lead nowhere, refused actively (R12). */
  readonly rejectWeight: number;
}

/** A frontend that serves: a Gateway, a Service that routes have taken over, or a ServiceImport. */
export interface AcceptedFrontend extends NamespacedName {
  readonly kind: 'gateway' | 'service' | 'service-import';
  /** The namespace whose pods it is for (a consumer's routes, GEP-1294); undefined: everyone. */
  readonly callersNamespace: string | undefined;
  readonly isHeadless: boolean;
  /** Canonical, sorted; empty until one is assigned. */
  readonly addresses: readonly string[];
  readonly dnsNames: readonly string[];
  readonly listeners: readonly AcceptedListener[];
}

/** What is decided of one Gateway of ours. */
export interface GatewayDecision {
  readonly gateway: GatewayObject;
  readonly accepted: Verdict;
  /** In the order of the spec. */
  readonly listeners: readonly ListenerDecision[];
}

/** A yes or no with the reason and the sentence of its condition. */
export interface Verdict {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What is decided of one listener. */
export interface ListenerDecision {
  readonly name: string;
  readonly port: number;
  readonly accepted: Verdict;
  /** `ok` means no conflict. */
  readonly unconflicted: Verdict;
  readonly resolvedRefs: Verdict;
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[];
  readonly attachedRoutes: number;
  /** Undefined where the listener does not serve. */
  readonly serving: AcceptedListener | undefined;
}

/** What is decided of one parent reference of a route that leads to a Gateway of ours, or to a Service. */
export interface RouteParentDecision {
  readonly parentIndex: number;
  readonly accepted: Verdict;
}

/** What is decided of one route; no parents where none of them is ours. */
export interface RouteDecision {
  readonly route: RouteObject;
  readonly parents: readonly RouteParentDecision[];
  readonly resolvedRefs: Verdict;
}

/** Everything that the objects alone decide: no addresses, no endpoints, no time. */
export interface GatewayDecisions {
  readonly classes: readonly { readonly gatewayClass: GatewayClassObject; readonly accepted: Verdict }[];
  /** Gateways of our classes that are not being deleted, sorted by namespace and name. */
  readonly gateways: readonly GatewayDecision[];
  readonly routes: readonly RouteDecision[];
  /** Services that routes have taken over, and ServiceImports. Gateways become frontends once they hold addresses. */
  readonly otherFrontends: readonly AcceptedFrontend[];
  readonly compositeBackends: readonly CompositeDecision[];
  readonly endpointSelectors: readonly { readonly selector: EndpointSelectorObject; readonly accepted: Verdict }[];
  /** What planAddresses must know of every Gateway that holds or wants addresses of ours. */
  readonly addressClaims: readonly AddressClaim[];
}

/** What is decided of one CompositeBackend. */
export interface CompositeDecision {
  readonly composite: CompositeBackendObject;
  readonly resolvedRefs: Verdict;
  /** Whether a serving listener leads to it. */
  readonly isUsed: boolean;
}
