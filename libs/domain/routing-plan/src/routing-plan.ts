import type { ClusterId, Locality, NamespacedName, Path, Protocol } from '#domain/fleet';

/**
 * The one intermediate representation between "who exports what with how much room" and "what xDS, nftables and DNS
 * must say". Built from local objects and the ImportSet; read by three renderers, none of which reads another.
 * Every list is sorted by its key, so equal plans are equal texts.
 */
export interface RoutingPlan {
  readonly frontends: readonly Frontend[];
  readonly backends: readonly PlannedBackend[];
  /** What this cluster's gateway nodes take in for members of other networks; sorted by protocol and port. */
  readonly gatewayPorts: readonly GatewayPort[];
}

/**
 * What clients call: a Gateway of class `cluster-ip`, an existing Service that a route has taken over (GAMMA, GEP-1294),
 * or a ServiceImport of the clusterset (KEP-1645).
 */
export interface Frontend extends NamespacedName {
  readonly kind: FrontendKind;
  /** Whom it is for; undefined: everyone. Where frontends share an address and port, the one that names the caller serves. */
  readonly callers: FrontendCallers | undefined;
  /** It has no address of its own and names its endpoints instead. */
  readonly isHeadless: boolean;
  /** Virtual addresses of both families, canonical text, sorted; empty until one is assigned. */
  readonly addresses: readonly string[];
  /** Names that lead to the addresses, without trailing dot. */
  readonly dnsNames: readonly string[];
  readonly listeners: readonly FrontendListener[];
}

/** What kind of object a frontend is. */
export type FrontendKind = 'gateway' | 'service' | 'service-import';

/** The callers of a consumer route: the pods of its namespace (GEP-1294). */
export interface FrontendCallers {
  readonly namespace: string;
  /** Pod addresses of both families, sorted. */
  readonly addresses: readonly string[];
}

/** One port of a frontend and where its connections go. Weights are relative; `rejectWeight` is refused actively (R12). */
export interface FrontendListener {
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly uses: readonly BackendUse[];
  readonly rejectWeight: number;
}

/** A weighted use of a planned backend by a listener. Weight ≥ 1. */
export interface BackendUse {
  readonly backend: PlannedBackendId;
  readonly weight: number;
}

/**
 * Identity of a backend in the plan: `ns/name/port/PROTOCOL` of a CompositeBackend (`composite:`), of a direct reference
 * (`selector:`, `x-selector:`, `service:`, `import:`), or of this cluster's part alone of a CompositeBackend (`local:`).
 */
export type PlannedBackendId = string & { readonly __brand: 'PlannedBackendId' };

/** One port of one backend with all its providers. */
export interface PlannedBackend {
  readonly id: PlannedBackendId;
  readonly protocol: Protocol;
  /** Undefined: every connection is balanced anew. */
  readonly affinity: PlannedAffinity | undefined;
  readonly trafficDistribution: TrafficDistribution;
  /** Sorted by cluster id. Shares sum to 10,000, or all are 0 when nobody can serve. */
  readonly providers: readonly PlannedProvider[];
}

/** Which endpoint a client's later connections go to: the same one, or any of the same cluster. */
export interface PlannedAffinity {
  readonly scope: 'endpoint' | 'cluster';
  /** Since the client's last connection. */
  readonly timeoutSeconds: number;
}

/** Which of a provider's endpoints a node prefers, as on a Service (KEP-3015); shares between clusters are not touched by it. */
export type TrafficDistribution = 'None' | 'PreferSameZone' | 'PreferSameNode';

/** One cluster's part of a planned backend. */
export interface PlannedProvider {
  readonly clusterId: ClusterId;
  readonly locality: Locality;
  readonly path: Path;
  /** 0..10,000. A provider with share 0 gets no new connection. */
  readonly shareBp: number;
  /** Sorted by address and port. */
  readonly endpoints: readonly PlannedEndpoint[];
}

/** One address and port that answers. `serving-terminating` endpoints are used only where no `ready` one is left (R20). */
export interface PlannedEndpoint {
  readonly address: string;
  readonly port: number;
  readonly state: 'ready' | 'serving-terminating' | 'not-ready';
  /** Empty where unknown, and for another cluster's gateways. */
  readonly zone: string;
  readonly node: string;
  /** Its own name under a headless frontend; empty where it has none. */
  readonly hostname: string;
}

/** A port on this cluster's gateway nodes that leads to one of its own backends (topology by port map). */
export interface GatewayPort {
  readonly port: number;
  readonly protocol: Protocol;
  /** A backend whose only provider is this cluster. */
  readonly backend: PlannedBackendId;
  /** Names of the nodes that take it in, sorted. */
  readonly nodes: readonly string[];
  /** Egress addresses of the members that may import; nobody else is let in. Sorted. */
  readonly sources: readonly string[];
}
