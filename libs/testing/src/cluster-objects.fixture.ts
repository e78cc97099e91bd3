import { parseAllDocuments } from 'yaml';

import {
  parseCompositeBackend,
  parseEndpointSelector,
  parseEndpointSlice,
  parseGateway,
  parseGatewayClass,
  parseImportSlice,
  parseIpAddress,
  parseNamespace,
  parseNode,
  parseObjects,
  parsePod,
  parseReferenceGrant,
  parseService,
  parseServiceCidr,
  parseServiceImport,
  parseTcpRoute,
  parseUdpRoute,
  parseXEndpointSelector,
  type Parsed,
} from '#contracts/kube-objects';
import type { IpAddress, ServiceCidr } from '#domain/addresses';
import type { GatewayObjects } from '#domain/gateway-api';
import type { LocalObjects } from '#domain/routing-plan';

/** The objects of one cluster, as its plans read them. */
export interface ClusterObjects {
  readonly gateway: GatewayObjects;
  readonly local: LocalObjects;
  readonly serviceCidrs: readonly ServiceCidr[];
  readonly ipAddresses: readonly IpAddress[];
  /** Documents of kinds that are no Kubernetes objects, such as `ImportSet`, as they are. */
  readonly others: ReadonlyMap<string, unknown>;
}

/** Reads the Kubernetes objects of a text of YAML documents; one that cannot be read fails the test. */
export function clusterObjects(yaml: string): ClusterObjects {
  return sortObjects(parseAllDocuments(yaml).map((document): unknown => document.toJS()));
}

/** Sorts raw Kubernetes objects into what the plans of one cluster read. */
export function sortObjects(raws: readonly unknown[]): ClusterObjects {
  const byKind = Map.groupBy(raws, kindOf);
  const all = <T>(kind: string, parse: (raw: unknown) => Parsed<T>): readonly T[] => {
    const { values, problems } = parseObjects(parse, byKind.get(kind) ?? []);
    if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
    return values;
  };
  const backends = {
    compositeBackends: all('CompositeBackend', parseCompositeBackend),
    endpointSelectors: [...all('EndpointSelector', parseEndpointSelector), ...all('XEndpointSelector', parseXEndpointSelector)],
    services: all('Service', parseService),
    serviceImports: all('ServiceImport', parseServiceImport),
  };
  return {
    gateway: {
      ...backends,
      classes: all('GatewayClass', parseGatewayClass),
      gateways: all('Gateway', parseGateway),
      tcpRoutes: all('TCPRoute', parseTcpRoute),
      udpRoutes: all('UDPRoute', parseUdpRoute),
      referenceGrants: all('ReferenceGrant', parseReferenceGrant),
      namespaces: all('Namespace', parseNamespace),
    },
    local: { ...backends, endpointSlices: all('EndpointSlice', parseEndpointSlice).filter(({ serviceName }) => serviceName !== ''), importSlices: all('EndpointSlice', parseImportSlice).filter(({ serviceName }) => serviceName !== ''), pods: all('Pod', parsePod), nodes: all('Node', parseNode) },
    serviceCidrs: all('ServiceCIDR', parseServiceCidr),
    ipAddresses: all('IPAddress', parseIpAddress),
    others: new Map([...byKind].map(([kind, [first]]) => [kind, first])),
  };
}

const kindOf = (raw: unknown): string => (typeof raw === 'object' && raw !== null && 'kind' in raw ? String(raw.kind) : '');
