/** A resource kind of a Kubernetes API; the same shape as the port's KubeKind. */
export interface ResourceKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const GATEWAY_API = { group: 'gateway.networking.k8s.io', version: 'v1' } as const;
const SPILLWAY = { group: 'spillway.dev', version: 'v1alpha1' } as const;
const MCS = { group: 'multicluster.x-k8s.io', version: 'v1beta1' } as const;
const CORE = { group: '', version: 'v1' } as const;
const NETWORKING = { group: 'networking.k8s.io', version: 'v1' } as const;
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;
const APPS = { group: 'apps', version: 'v1' } as const;

/** Every resource kind that Spillway touches. */
export const KUBE_KINDS = {
  gatewayClass: { ...GATEWAY_API, kind: 'GatewayClass', plural: 'gatewayclasses', namespaced: false },
  gateway: { ...GATEWAY_API, kind: 'Gateway', plural: 'gateways', namespaced: true },
  tcpRoute: { ...GATEWAY_API, kind: 'TCPRoute', plural: 'tcproutes', namespaced: true },
  udpRoute: { ...GATEWAY_API, kind: 'UDPRoute', plural: 'udproutes', namespaced: true },
  // ReferenceGrant is v1 since Gateway API 1.5; v1beta1 is served by every release since 0.6.
  referenceGrant: { ...GATEWAY_API, version: 'v1beta1', kind: 'ReferenceGrant', plural: 'referencegrants', namespaced: true },
  compositeBackend: { ...SPILLWAY, kind: 'CompositeBackend', plural: 'compositebackends', namespaced: true },
  endpointSelector: { ...SPILLWAY, kind: 'EndpointSelector', plural: 'endpointselectors', namespaced: true },
  xEndpointSelector: { group: 'gateway.networking.x-k8s.io', version: 'v1alpha1', kind: 'XEndpointSelector', plural: 'xendpointselectors', namespaced: true },
  serviceImport: { ...MCS, kind: 'ServiceImport', plural: 'serviceimports', namespaced: true },
  pod: { ...CORE, kind: 'Pod', plural: 'pods', namespaced: true },
  node: { ...CORE, kind: 'Node', plural: 'nodes', namespaced: false },
  service: { ...CORE, kind: 'Service', plural: 'services', namespaced: true },
  namespace: { ...CORE, kind: 'Namespace', plural: 'namespaces', namespaced: false },
  secret: { ...CORE, kind: 'Secret', plural: 'secrets', namespaced: true },
  configMap: { ...CORE, kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
  serviceAccount: { ...CORE, kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
  event: { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
  endpointSlice: { group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice', plural: 'endpointslices', namespaced: true },
  serviceCidr: { ...NETWORKING, kind: 'ServiceCIDR', plural: 'servicecidrs', namespaced: false },
  ipAddress: { ...NETWORKING, kind: 'IPAddress', plural: 'ipaddresses', namespaced: false },
  lease: { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', namespaced: true },
  tokenReview: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenReview', plural: 'tokenreviews', namespaced: false },
  selfSubjectReview: { group: 'authentication.k8s.io', version: 'v1', kind: 'SelfSubjectReview', plural: 'selfsubjectreviews', namespaced: false },
  selfSubjectAccessReview: {
    group: 'authorization.k8s.io',
    version: 'v1',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    namespaced: false,
  },
  customResourceDefinition: {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
  },
  deployment: { ...APPS, kind: 'Deployment', plural: 'deployments', namespaced: true },
  daemonSet: { ...APPS, kind: 'DaemonSet', plural: 'daemonsets', namespaced: true },
  clusterRole: { ...RBAC, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false },
  clusterRoleBinding: { ...RBAC, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
  role: { ...RBAC, kind: 'Role', plural: 'roles', namespaced: true },
  roleBinding: { ...RBAC, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true },
} as const satisfies Readonly<Record<string, ResourceKind>>;
