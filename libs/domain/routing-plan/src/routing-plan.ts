import type { ClusterId, Locality, NamespacedName, Path, Protocol } from '#domain/fleet';

/**
 * The one intermediate representation between "who exports what with how much room" and "what xDS, nftables and DNS
 * must say". Built from local objects and the ImportSet; read by three renderers, none of which reads another.
 * Every list is sorted by its key, so equal plans are equal texts.
 */
export interface RoutingPlan {
  readonly frontends: readonly Frontend[];
  readonly backends: readonly PlannedBackend[];
}

/** A stable address that clients call: a Gateway of class `cluster-ip`. */
export interface Frontend extends NamespacedName {
  readonly kind: 'gateway';
  /** Virtual addresses, canonical text, sorted; empty until one is assigned. */
  readonly addresses: readonly string[];
  /** Names that lead to the addresses, without trailing dot. */
  readonly dnsNames: readonly string[];
  readonly listeners: readonly FrontendListener[];
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
 * Identity of a backend in the plan: `ns/name/port/PROTOCOL` of a CompositeBackend (`composite:`) or of a direct
 * reference (`selector:`).
 */
export type PlannedBackendId = string & { readonly __brand: 'PlannedBackendId' };

/** One port of one backend with all its providers. */
export interface PlannedBackend {
  readonly id: PlannedBackendId;
  readonly protocol: Protocol;
  /** Sorted by cluster id. Shares sum to 10,000, or all are 0 when nobody can serve. */
  readonly providers: readonly PlannedProvider[];
}

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
}
