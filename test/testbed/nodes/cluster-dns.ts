import type { ApiObject } from '../kube-api/kube-api.js';

/** The image under which the kubelet knows CoreDNS. */
export const COREDNS_IMAGE = 'registry.k8s.io/coredns/coredns:v1.15.0';

/** A zone that cluster DNS forwards. */
export interface StubZone {
  readonly zone: string;
  readonly address: string;
}

/** The objects of a cluster's DNS as distributions install it: CoreDNS as a Deployment behind the Service kube-dns. */
export function clusterDnsObjects(dnsAddress: string): readonly ApiObject[] {
  const metadata = { name: 'coredns', namespace: 'kube-system' };
  const labels = { 'k8s-app': 'kube-dns' };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'system:coredns' }, rules: [{ apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] }, { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] }] },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'system:coredns' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:coredns' }, subjects: [{ kind: 'ServiceAccount', ...metadata }] },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: renderCorefile([]) } },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'kube-dns', namespace: 'kube-system', labels }, spec: { clusterIP: dnsAddress, selector: labels, ports: [{ name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 }, { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 }] } },
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec() } } },
  ];
}

/** The Corefile: cluster.local from the API server, stub zones forwarded, anything else refused: there is no way out. */
export function renderCorefile(stubZones: readonly StubZone[]): string {
  const stubs = stubZones.flatMap(({ zone, address }) => [`${zone}:53 {`, '    errors', `    forward . ${address}`, '}']);
  return [
    '.:53 {',
    '    errors',
    '    health {',
    '        lameduck 0s',
    '    }',
    '    ready',
    '    kubernetes cluster.local in-addr.arpa ip6.arpa {',
    '        pods insecure',
    '        ttl 5',
    '    }',
    '    prometheus :9153',
    '    reload 2s 1s',
    '}',
    ...stubs,
    '',
  ].join('\n');
}

function podSpec(): object {
  return {
    serviceAccountName: 'coredns',
    dnsPolicy: 'Default',
    priorityClassName: 'system-cluster-critical',
    terminationGracePeriodSeconds: 5,
    containers: [
      {
        name: 'coredns',
        image: COREDNS_IMAGE,
        args: ['-conf', '/etc/coredns/Corefile'],
        volumeMounts: [{ name: 'config-volume', mountPath: '/etc/coredns', readOnly: true }],
        ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }],
        readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 2 },
        livenessProbe: { httpGet: { path: '/health', port: 8080 }, initialDelaySeconds: 60 },
      },
    ],
    volumes: [{ name: 'config-volume', configMap: { name: 'coredns', items: [{ key: 'Corefile', path: 'Corefile' }] } }],
  };
}
