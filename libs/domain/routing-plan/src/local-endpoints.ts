import { ipFamily } from '#domain/addresses';
import { byKey, type Endpoint, type Lookup, type Lookups } from '#domain/fleet';
import { keyOfSelector, objectKey, selectorTarget, servicePort, type CompositePort, type EndpointSelectorObject, type LocalPart, type ServiceObject } from '#domain/gateway-api';

import type { EndpointSliceObject, PodObject, SliceEndpoint } from './local-objects.js';

/** Finds who answers for a local part in this cluster, on each of the given ports. */
export type LocalEndpointFinder = (part: LocalPart, ports: readonly CompositePort[]) => readonly Endpoint[];

/** What endpoints are made from: by its key a selector's pods, by `namespace/name` a Service's slices, by name a node's zone. */
export interface EndpointSources {
  readonly pods: readonly PodObject[];
  readonly slices: readonly EndpointSliceObject[];
  readonly zones: string;
}

/** Endpoints of both families, sorted by address, each address once. */
export function localEndpointFinder({ pods, slices, zones }: Lookups<EndpointSources>): LocalEndpointFinder {
  return (part, ports) =>
    part.kind === 'selector'
      ? selectorEndpoints({ selector: part.selector, pods: pods.get(keyOfSelector(part.selector)) ?? [] }, ports, zones)
      : serviceEndpoints(part.service, ports, slices.get(objectKey(part.service)) ?? []);
}

interface SelectedPart {
  readonly selector: EndpointSelectorObject;
  readonly pods: readonly PodObject[];
}

function selectorEndpoints({ selector, pods }: SelectedPart, ports: readonly CompositePort[], zones: Lookup<string>): readonly Endpoint[] {
  const targets = ports.map(({ targetPort, protocol }) => ({ target: selectorTarget(selector, targetPort, protocol), protocol }));
  const endpoints = pods.flatMap((pod): readonly Endpoint[] => {
    const common = {
      targetPorts: targets.map(({ target, protocol }) => podPort(pod, target, protocol)),
      // As the endpointslice controller says it: a pod on its way out is never ready, and serves while its probe passes.
      ready: pod.isReady && !pod.isDeleting,
      serving: pod.isReady,
      terminating: pod.isDeleting,
      zone: zones.get(pod.node) ?? '',
      node: pod.node,
    };
    return firstOfEachFamily(pod.addresses).map((address) => ({ address, ...common }));
  });
  return distinct(endpoints);
}

function podPort({ namedPorts }: PodObject, target: number | string | undefined, protocol: string): number {
  if (typeof target === 'number') return target;
  return namedPorts.find((port) => port.name === target && port.protocol === protocol)?.port ?? 0;
}

// R15: a Service leads to its endpoints, never to its ClusterIP.
function serviceEndpoints(service: ServiceObject, ports: readonly CompositePort[], slices: readonly EndpointSliceObject[]): readonly Endpoint[] {
  return sliceEndpoints(slices, ports.map(({ targetPort, protocol }) => ({ name: servicePort(service, targetPort, protocol)?.name, protocol })));
}

/** A port that slices know by its name; undefined where the Service lacks it. */
export interface NamedPort {
  readonly name: string | undefined;
  readonly protocol: string;
}

/** The endpoints of slices on each of these ports, sorted by address, each address once. */
export function sliceEndpoints(slices: readonly EndpointSliceObject[], wanted: readonly NamedPort[]): readonly Endpoint[] {
  return distinct(
    slices.flatMap((slice) => {
      const targetPorts = wanted.map(({ name, protocol }) => slice.ports.find((port) => port.name === name && port.protocol === protocol)?.port ?? 0);
      return slice.endpoints.flatMap((endpoint) => endpointOf(endpoint, targetPorts) ?? []);
    }),
  );
}

function endpointOf({ addresses, ready, serving, terminating, node, zone }: SliceEndpoint, targetPorts: readonly number[]): Endpoint | undefined {
  // discovery.k8s.io/v1: the addresses of one endpoint are interchangeable; consumers may use the first alone.
  const [address] = addresses;
  // R20: an endpoint on its way out is never ready, whatever publishNotReadyAddresses makes its slice say.
  return address === undefined ? undefined : { address, targetPorts, ready: ready && !terminating, serving, terminating, zone, node };
}

/** One endpoint for each address: while an endpoint moves from slice to slice it is in both, and the word that it is ready counts. */
function distinct(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const byAddress = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) {
    const same = byAddress.get(endpoint.address);
    if (same === undefined) byAddress.set(endpoint.address, [endpoint]);
    else same.push(endpoint);
  }
  return [...byAddress.values()].map(mergeSame).sort(byKey(({ address }) => address));
}

// The best word first, then by text, so that the order in which objects came does not matter.
function mergeSame(same: readonly Endpoint[]): Endpoint {
  const [only] = same;
  if (same.length === 1 && only !== undefined) return only;
  return [...same].sort(byKey((endpoint) => `${endpoint.ready ? 0 : endpoint.serving ? 1 : 2}${JSON.stringify(endpoint)}`)).reduce(fillPorts);
}

const fillPorts = (best: Endpoint, other: Endpoint): Endpoint => ({ ...best, targetPorts: best.targetPorts.map((port, at) => (port === 0 ? (other.targetPorts[at] ?? 0) : port)) });

// A pod has at most one address of each family (status.podIPs).
const firstOfEachFamily = (addresses: readonly string[]): readonly string[] => ['IPv4', 'IPv6'].flatMap((family) => addresses.find((address) => ipFamily(address) === family) ?? []);
