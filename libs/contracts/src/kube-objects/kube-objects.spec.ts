import { describe, expect, it } from '@jest/globals';

import {
  ipAddressManifest,
  KUBE_KINDS,
  parseCompositeBackend,
  parseEndpointSelector,
  parseEndpointSlice,
  parseGateway,
  parseImportSlice,
  parseGatewayDefinition,
  parseIpAddress,
  parseObjects,
  parsePod,
  parseService,
  parseServiceImport,
  parseServiceCidr,
  parseTcpRoute,
  type Parsed,
} from './index.js';

const valueOf = <T>(parsed: Parsed<T>): T => {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.value;
};
const metadata = { namespace: 'ai', name: 'model' };

describe('objects are read with the defaults of their APIs', () => {
  it('a listener without allowedRoutes allows routes of its own namespace', () => {
    const gateway = valueOf(
      parseGateway({ metadata, spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'http', port: 80, protocol: 'TCP' }] } }),
    );
    expect(gateway.listeners[0]).toMatchObject({ allowedFrom: 'Same', allowedKinds: [] });
    expect(gateway.status).toEqual({ addresses: [], conditions: [], listeners: [] });
  });

  it('a backendRef defaults to a Service of the route\'s namespace with weight 1', () => {
    const route = valueOf(parseTcpRoute({ metadata, spec: { parentRefs: [{ name: 'model' }], rules: [{ backendRefs: [{ name: 'b', port: 80 }] }] } }));
    expect(route.rules[0]?.backendRefs).toEqual([{ group: '', kind: 'Service', namespace: 'ai', name: 'b', port: 80, weight: 1 }]);
  });

  it('another controller\'s status entry keeps fields that we do not know', () => {
    const foreign = { parentRef: { name: 'x', future: 1 }, controllerName: 'example.com/other', conditions: [], extra: 'kept' };
    expect(valueOf(parseTcpRoute({ metadata, spec: {}, status: { parents: [foreign] } })).parents).toEqual([foreign]);
  });

  it.each([
    { name: 'keeps routability where its status has the field', addresses: { items: { properties: { value: {}, routability: {} } } }, want: true },
    { name: 'prunes it where its status lacks the field', addresses: { items: { properties: { value: {} } } }, want: false },
    { name: 'of a shape that nobody expects keeps nothing', addresses: 7, want: false },
  ])('a definition of Gateways $name', ({ addresses, want }) => {
    const openAPIV3Schema = { properties: { status: { properties: { addresses } } } };
    expect(valueOf(parseGatewayDefinition({ metadata, spec: { versions: [{ name: 'v1beta1' }, { name: 'v1', schema: { openAPIV3Schema } }] } })).keepsRoutability).toBe(want);
  });

  it.each([
    { name: 'of ClientIP has the timeout that it says', spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } }, want: { timeoutSeconds: 60 } },
    { name: 'of ClientIP lasts three hours where it says nothing', spec: { sessionAffinity: 'ClientIP' }, want: { timeoutSeconds: 10_800 } },
    { name: 'of None is none', spec: { sessionAffinity: 'None' }, want: undefined },
  ])('a Service\'s affinity $name', ({ spec, want }) => {
    expect(valueOf(parseService({ metadata, spec })).affinity).toEqual(want);
    expect(valueOf(parseServiceImport({ metadata, spec: { type: 'ClusterSetIP', ...spec } })).affinity).toEqual(want);
  });

  it.each([
    { name: 'PreferClose', want: 'PreferSameZone' },
    { name: 'PreferSameNode', want: 'PreferSameNode' },
    { name: 'a word of the future', want: undefined },
  ])('a Service\'s trafficDistribution $name means $want', ({ name, want }) => {
    expect(valueOf(parseService({ metadata, spec: { trafficDistribution: name } })).trafficDistribution).toBe(want);
  });

  it('a ServiceImport\'s addresses are canonical, and a headless one has neither addresses nor affinity', () => {
    const spec = { ips: ['fd00:0:0::7', 'nonsense'], sessionAffinity: 'ClientIP' };
    expect(valueOf(parseServiceImport({ metadata, spec: { ...spec, type: 'ClusterSetIP' } }))).toMatchObject({ addresses: ['fd00::7'], affinity: { timeoutSeconds: 10_800 } });
    expect(valueOf(parseServiceImport({ metadata, spec: { ...spec, type: 'Headless' } }))).toMatchObject({ addresses: [], affinity: undefined });
  });

  it('a slice of a ServiceImport says whose it is, and by which names its endpoints go', () => {
    const labels = { 'multicluster.kubernetes.io/service-name': 'model', 'multicluster.kubernetes.io/source-cluster': 'west-1' };
    const slice = valueOf(parseImportSlice({ metadata: { ...metadata, labels }, addressType: 'IPv4', endpoints: [{ addresses: ['10.2.0.1'], hostname: 'shard-0' }] }));
    expect([slice.serviceName, slice.sourceCluster, slice.endpoints.map(({ hostname }) => hostname)]).toEqual(['model', 'west-1', ['shard-0']]);
  });

  it('a CompositeBackend that says nothing of affinity leaves it open, and one that says None does not', () => {
    expect(valueOf(parseCompositeBackend({ metadata })).affinity).toBeUndefined();
    expect(valueOf(parseCompositeBackend({ metadata, spec: { sessionAffinity: 'None' } })).affinity).toEqual({ affinity: 'None', timeoutSeconds: 10_800 });
  });

  it('a CompositeBackend\'s target port defaults to its port', () => {
    expect(valueOf(parseCompositeBackend({ metadata, spec: { ports: [{ port: 80 }] } })).ports).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }]);
  });

  it('an absent ready condition of an endpoint counts as ready, and an absent serving as ready', () => {
    const slice = valueOf(parseEndpointSlice({ metadata, addressType: 'IPv4', endpoints: [{ addresses: ['10.1.0.1'] }, { addresses: ['10.1.0.2'], conditions: { ready: false } }] }));
    expect(slice.endpoints.map(({ ready, serving, terminating }) => [ready, serving, terminating])).toEqual([
      [true, true, false],
      [false, false, false],
    ]);
  });

  it('a headless Service has no ClusterIP', () => {
    expect(valueOf(parseService({ metadata, spec: { clusterIP: 'None', clusterIPs: ['None'] } })).clusterIps).toEqual([]);
  });

  it('a pod keeps the named ports of its containers and sidecars, not those of its init containers', () => {
    const pod = valueOf(
      parsePod({
        metadata,
        spec: {
          containers: [{ ports: [{ name: 'http', containerPort: 8080 }, { containerPort: 9 }] }],
          initContainers: [{ restartPolicy: 'Always', ports: [{ name: 'side', containerPort: 7 }] }, { ports: [{ name: 'setup', containerPort: 8 }] }],
        },
        status: { phase: 'Running', podIP: '10.1.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    );
    expect(pod.namedPorts.map(({ name }) => name)).toEqual(['http', 'side']);
    expect(pod).toMatchObject({ addresses: ['10.1.0.1'], isReady: true, isDeleting: false });
  });

  it('a ServiceCIDR is ready only where its condition says so', () => {
    const cidr = { metadata: { name: 'kubernetes' }, spec: { cidrs: ['172.30.0.0/16'] } };
    expect(valueOf(parseServiceCidr(cidr)).isReady).toBe(false);
    expect(valueOf(parseServiceCidr({ ...cidr, status: { conditions: [{ type: 'Ready', status: 'True' }] } })).isReady).toBe(true);
  });
});

describe('an unreadable object harms nobody else', () => {
  it('it becomes a problem with its name, and the others are read', () => {
    const bad = { metadata: { namespace: 'ai', name: 'bad' }, spec: { selector: { matchLabels: { app: 5 } } } };
    const good = { metadata, spec: { selector: { matchLabels: { app: 'model' } } } };
    const { values, problems } = parseObjects(parseEndpointSelector, [bad, good, null]);
    expect(values.map(({ meta }) => meta.name)).toEqual(['model']);
    expect(problems.map(({ path, code }) => [path, code])).toEqual([
      ['EndpointSelector ai/bad', 'KUBE_OBJECT_UNREADABLE'],
      ['EndpointSelector (without a name)', 'KUBE_OBJECT_UNREADABLE'],
    ]);
    expect(problems[0]?.message).toContain('spec.selector.matchLabels.app');
  });
});

describe('objects that we write', () => {
  it('an IPAddress names its Gateway, carries our manager and reads back as ours', () => {
    const manifest = ipAddressManifest({ address: '172.30.9.9', family: 'IPv4', gateway: { namespace: 'ai', name: 'model' } });
    expect(manifest.metadata.labels).toEqual({ 'ipaddress.kubernetes.io/managed-by': 'spillway.dev', 'ipaddress.kubernetes.io/ip-family': 'IPv4' });
    expect(valueOf(parseIpAddress(manifest))).toEqual({
      name: '172.30.9.9',
      uid: '',
      managedBy: 'spillway.dev',
      parent: { group: 'gateway.networking.k8s.io', resource: 'gateways', namespace: 'ai', name: 'model' },
    });
  });

  it('every kind has its own path', () => {
    const paths = Object.values(KUBE_KINDS).map(({ group, version, plural }) => `${group}/${version}/${plural}`);
    expect(new Set(paths).size).toBe(paths.length);
  });
});
