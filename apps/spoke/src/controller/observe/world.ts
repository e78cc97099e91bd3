import {
  KUBE_KINDS,
  parseCompositeBackend,
  parseEndpointSelector,
  parseEndpointSlice,
  parseGateway,
  parseGatewayClass,
  parseGatewayDefinition,
  parseImportSlice,
  parseIpAddress,
  parseNamespace,
  parseNode,
  parsePod,
  parseReferenceGrant,
  parseService,
  parseServiceCidr,
  parseServiceImport,
  parseTcpRoute,
  parseUdpRoute,
  parseXEndpointSelector,
} from '#contracts/kube-objects';
import type { StatusKind } from '#domain/gateway-api';
import type { KubeKind } from '#ports';

import { WatchedKind, type WatchedKindContext, type WatchedKindSpec } from './watched-kind.js';

// The one definition whose shape decides what a status may say.
const OF_GATEWAYS = { fieldSelector: 'metadata.name=gateways.gateway.networking.k8s.io' };
// Only slices that say which Service they belong to can be a back end.
const OF_A_SERVICE = { labelSelector: 'kubernetes.io/service-name' };
const OF_AN_IMPORT = { labelSelector: 'multicluster.kubernetes.io/service-name' };

/** Everything of this cluster that plans are made from, followed by watches and trimmed on receipt. */
export class World {
  readonly gatewayClasses;
  readonly gateways;
  readonly tcpRoutes;
  readonly udpRoutes;
  readonly referenceGrants;
  readonly compositeBackends;
  readonly endpointSelectors;
  readonly xEndpointSelectors;
  readonly serviceImports;
  readonly namespaces;
  readonly services;
  readonly endpointSlices;
  readonly importSlices;
  readonly pods;
  readonly nodes;
  readonly serviceCidrs;
  readonly ipAddresses;
  readonly gatewayDefinitions;
  readonly kinds: readonly WatchedKind<unknown>[];

  constructor(context: WatchedKindContext) {
    const kinds: WatchedKind<unknown>[] = [];
    const follow = <T>(spec: WatchedKindSpec<T>): WatchedKind<T> => {
      const kind = new WatchedKind(spec, context);
      kinds.push(kind);
      return kind;
    };
    this.gatewayClasses = follow({ kind: KUBE_KINDS.gatewayClass, parse: parseGatewayClass, optional: 'wanted' });
    this.gateways = follow({ kind: KUBE_KINDS.gateway, parse: parseGateway, optional: 'wanted' });
    this.tcpRoutes = follow({ kind: KUBE_KINDS.tcpRoute, olderVersions: ['v1alpha2'], parse: parseTcpRoute, optional: 'wanted' });
    this.udpRoutes = follow({ kind: KUBE_KINDS.udpRoute, olderVersions: ['v1alpha2'], parse: parseUdpRoute, optional: 'extra' });
    this.referenceGrants = follow({ kind: KUBE_KINDS.referenceGrant, parse: parseReferenceGrant, optional: 'wanted' });
    this.compositeBackends = follow({ kind: KUBE_KINDS.compositeBackend, parse: parseCompositeBackend, optional: 'wanted' });
    this.endpointSelectors = follow({ kind: KUBE_KINDS.endpointSelector, parse: parseEndpointSelector, optional: 'wanted' });
    this.xEndpointSelectors = follow({ kind: KUBE_KINDS.xEndpointSelector, parse: parseXEndpointSelector, optional: 'extra' });
    this.serviceImports = follow({ kind: KUBE_KINDS.serviceImport, olderVersions: ['v1alpha1'], parse: parseServiceImport, optional: 'extra' });
    this.namespaces = follow({ kind: KUBE_KINDS.namespace, parse: parseNamespace });
    this.services = follow({ kind: KUBE_KINDS.service, parse: parseService });
    this.endpointSlices = follow({ kind: KUBE_KINDS.endpointSlice, parse: parseEndpointSlice, selection: OF_A_SERVICE });
    this.importSlices = follow({ kind: KUBE_KINDS.endpointSlice, parse: parseImportSlice, selection: OF_AN_IMPORT });
    this.pods = follow({ kind: KUBE_KINDS.pod, parse: parsePod });
    this.nodes = follow({ kind: KUBE_KINDS.node, parse: parseNode });
    this.serviceCidrs = follow({ kind: KUBE_KINDS.serviceCidr, parse: parseServiceCidr, optional: 'wanted' });
    this.ipAddresses = follow({ kind: KUBE_KINDS.ipAddress, parse: parseIpAddress, optional: 'wanted' });
    this.gatewayDefinitions = follow({ kind: KUBE_KINDS.customResourceDefinition, parse: parseGatewayDefinition, selection: OF_GATEWAYS });
    this.kinds = kinds;
  }

  start(): void {
    for (const kind of this.kinds) kind.start();
  }

  stop(): void {
    for (const kind of this.kinds) kind.stop();
  }

  /** A kind whose status we write, in the version that this cluster serves. */
  readonly servedKind = (kind: StatusKind): KubeKind => this.#written[kind].served;

  get #written(): Readonly<Record<StatusKind, WatchedKind<unknown>>> {
    return { GatewayClass: this.gatewayClasses, Gateway: this.gateways, TCPRoute: this.tcpRoutes, UDPRoute: this.udpRoutes, CompositeBackend: this.compositeBackends, EndpointSelector: this.endpointSelectors };
  }

  /** Whether a Gateway's status can say from where its addresses can be reached (GEP-5093). */
  get keepsRoutability(): boolean {
    return this.gatewayDefinitions.values().some(({ keepsRoutability }) => keepsRoutability);
  }

  /** Whether every first list is complete, or its kind is definitely not served here (C74). */
  get complete(): boolean {
    return this.kinds.every((kind) => kind.state !== 'listing');
  }

  /** Kinds whose first list is still awaited. */
  get listing(): readonly string[] {
    return this.kinds.filter((kind) => kind.state === 'listing').map((kind) => kind.spec.kind.kind);
  }

  /** Kinds that this cluster does not serve though it should. */
  get missing(): readonly string[] {
    return this.kinds.filter((kind) => kind.state === 'missing' && kind.spec.optional === 'wanted').map((kind) => kind.spec.kind.kind);
  }

  /** Since when some watch is away from the API server, epoch ms. */
  get lostSinceMs(): number | undefined {
    const since = this.kinds.flatMap((kind) => kind.lostSinceMs ?? []);
    return since.length === 0 ? undefined : Math.min(...since);
  }
}
