import {
  KUBE_KINDS,
  parseCompositeBackend,
  parseEndpointSelector,
  parseEndpointSlice,
  parseGateway,
  parseGatewayClass,
  parseGatewayDefinition,
  parseIpAddress,
  parseNamespace,
  parseNode,
  parsePod,
  parseReferenceGrant,
  parseService,
  parseServiceCidr,
  parseTcpRoute,
} from '#contracts/kube-objects';

import { WatchedKind, type WatchedKindContext, type WatchedKindSpec } from './watched-kind.js';

// The one definition whose shape decides what a status may say.
const OF_GATEWAYS = { fieldSelector: 'metadata.name=gateways.gateway.networking.k8s.io' };
// Only slices that say which Service they belong to can be a back end.
const OF_A_SERVICE = { labelSelector: 'kubernetes.io/service-name' };

/** Everything of this cluster that plans are made from, followed by watches and trimmed on receipt. */
export class World {
  readonly gatewayClasses;
  readonly gateways;
  readonly tcpRoutes;
  readonly referenceGrants;
  readonly compositeBackends;
  readonly endpointSelectors;
  readonly namespaces;
  readonly services;
  readonly endpointSlices;
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
    this.gatewayClasses = follow({ kind: KUBE_KINDS.gatewayClass, parse: parseGatewayClass, optional: true });
    this.gateways = follow({ kind: KUBE_KINDS.gateway, parse: parseGateway, optional: true });
    this.tcpRoutes = follow({ kind: KUBE_KINDS.tcpRoute, parse: parseTcpRoute, optional: true });
    this.referenceGrants = follow({ kind: KUBE_KINDS.referenceGrant, parse: parseReferenceGrant, optional: true });
    this.compositeBackends = follow({ kind: KUBE_KINDS.compositeBackend, parse: parseCompositeBackend, optional: true });
    this.endpointSelectors = follow({ kind: KUBE_KINDS.endpointSelector, parse: parseEndpointSelector, optional: true });
    this.namespaces = follow({ kind: KUBE_KINDS.namespace, parse: parseNamespace });
    this.services = follow({ kind: KUBE_KINDS.service, parse: parseService });
    this.endpointSlices = follow({ kind: KUBE_KINDS.endpointSlice, parse: parseEndpointSlice, selection: OF_A_SERVICE });
    this.pods = follow({ kind: KUBE_KINDS.pod, parse: parsePod });
    this.nodes = follow({ kind: KUBE_KINDS.node, parse: parseNode });
    this.serviceCidrs = follow({ kind: KUBE_KINDS.serviceCidr, parse: parseServiceCidr, optional: true });
    this.ipAddresses = follow({ kind: KUBE_KINDS.ipAddress, parse: parseIpAddress, optional: true });
    this.gatewayDefinitions = follow({ kind: KUBE_KINDS.customResourceDefinition, parse: parseGatewayDefinition, selection: OF_GATEWAYS });
    this.kinds = kinds;
  }

  start(): void {
    for (const kind of this.kinds) kind.start();
  }

  stop(): void {
    for (const kind of this.kinds) kind.stop();
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

  /** Kinds that this cluster does not serve. */
  get missing(): readonly string[] {
    return this.kinds.filter((kind) => kind.state === 'missing').map((kind) => kind.spec.kind.kind);
  }

  /** Since when some watch is away from the API server, epoch ms. */
  get lostSinceMs(): number | undefined {
    const since = this.kinds.flatMap((kind) => kind.lostSinceMs ?? []);
    return since.length === 0 ? undefined : Math.min(...since);
  }
}
