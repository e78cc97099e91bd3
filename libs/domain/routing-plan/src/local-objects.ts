import type { NamespacedName } from '#domain/fleet';
import type { CompositeBackendObject, EndpointSelectorObject, ServiceImportObject, ServiceObject } from '#domain/gateway-api';

/** The objects of one cluster that say who answers. Every list must come from a source that has finished its first list. */
export interface LocalObjects {
  readonly compositeBackends: readonly CompositeBackendObject[];
  readonly endpointSelectors: readonly EndpointSelectorObject[];
  readonly services: readonly ServiceObject[];
  readonly serviceImports: readonly ServiceImportObject[];
  readonly endpointSlices: readonly EndpointSliceObject[];
  /** Slices of ServiceImports. */
  readonly importSlices: readonly ImportSliceObject[];
  readonly pods: readonly PodObject[];
  readonly nodes: readonly NodeObject[];
}

/** A pod, trimmed. */
export interface PodObject extends NamespacedName {
  readonly labels: Readonly<Record<string, string>>;
  readonly node: string;
  /** status.podIPs, or empty. */
  readonly addresses: readonly string[];
  /** Its Ready condition is True. */
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  /** Its addresses are its node's, and not its alone. */
  readonly isOnHostNetwork: boolean;
  /** Its phase is Succeeded or Failed: it answers nothing ever again. */
  readonly isFinished: boolean;
  /** Named ports of its containers. */
  readonly namedPorts: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

/** A node, trimmed. */
export interface NodeObject {
  readonly name: string;
  readonly isReady: boolean;
  readonly zone: string;
  readonly region: string;
  /** Its addresses of type InternalIP, in order. */
  readonly internalIps: readonly string[];
  /** It has the label `spillway.dev/gateway`, and that does not say `false`. */
  readonly isGateway: boolean;
  /** Annotation `spillway.dev/gateway-address`: where other networks reach it, instead of its internal addresses. */
  readonly gatewayAddresses: readonly string[];
  /** Annotation `spillway.dev/egress-address`: from where its calls come to other networks, instead of its internal addresses. */
  readonly egressAddresses: readonly string[];
}

/** An EndpointSlice of a Service, trimmed. */
export interface EndpointSliceObject extends NamespacedName {
  /** Label `kubernetes.io/service-name`; empty where it lacks. */
  readonly serviceName: string;
  readonly addressType: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** An EndpointSlice of a ServiceImport: the endpoints of one source cluster (KEP-1645); `serviceName` is the import's name. */
export interface ImportSliceObject extends EndpointSliceObject {
  /** Label `multicluster.kubernetes.io/source-cluster`; empty where it lacks. */
  readonly sourceCluster: string;
}

/** One endpoint of a slice; conditions that were absent are filled in (absent ready counts as ready). */
export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly node: string;
  readonly zone: string;
  /** Its own name under a headless frontend; empty where it has none. */
  readonly hostname: string;
}
