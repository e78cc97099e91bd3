import { KUBE_KINDS } from '#contracts/kube-objects';

import { CONTROLLER_NAME, DNS_NAME, manifest, NODE_NAME, ownLabels, SPOKE_NAMESPACE, type Manifest } from './manifest.js';

/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const READ = ['get', 'list', 'watch'];

/** What the controller may do in the whole cluster: read what it plans from, and write statuses, finalizers and addresses that are its own. */
export const CONTROLLER_CLUSTER_RULES: readonly PolicyRule[] = [
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['gatewayclasses', 'gateways', 'tcproutes', 'udproutes', 'referencegrants'], verbs: READ },
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['gatewayclasses/status', 'gateways/status', 'tcproutes/status', 'udproutes/status'], verbs: ['update'] },
  // Our finalizer: addresses go back before a Gateway goes.
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['gateways', 'gateways/finalizers'], verbs: ['update'] },
  { apiGroups: ['spillway.dev'], resources: ['compositebackends', 'endpointselectors'], verbs: READ },
  { apiGroups: ['spillway.dev'], resources: ['compositebackends/status', 'endpointselectors/status'], verbs: ['update'] },
  // Backends of others that routes may name.
  { apiGroups: ['gateway.networking.x-k8s.io'], resources: ['xendpointselectors'], verbs: READ },
  { apiGroups: ['multicluster.x-k8s.io'], resources: ['serviceimports'], verbs: READ },
  { apiGroups: [''], resources: ['namespaces', 'nodes', 'pods', 'services'], verbs: READ },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  // Our finalizer keeps a ServiceCIDR that holds our addresses.
  { apiGroups: ['networking.k8s.io'], resources: ['servicecidrs'], verbs: [...READ, 'update'] },
  { apiGroups: ['networking.k8s.io'], resources: ['ipaddresses'], verbs: [...READ, 'create', 'delete'] },
  // Whether a Gateway's status can say how far its addresses reach.
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], resourceNames: ['gateways.gateway.networking.k8s.io'], verbs: READ },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  // Says on our own Namespace that it has left.
  { apiGroups: [''], resources: ['namespaces'], resourceNames: [SPOKE_NAMESPACE], verbs: ['patch'] },
];

const OWN_SECRETS = ['spillway-join', 'spillway-identity', 'spillway-xds-tls'];

/** What the controller may do in its own namespace. The API server cannot restrict `create` by name. */
export const CONTROLLER_NAMESPACE_RULES: readonly PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [CONTROLLER_NAME], verbs: ['get', 'update'] },
  // Services of its own that somebody deletes are put back with the address that they had.
  { apiGroups: [''], resources: ['services'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: OWN_SECRETS, verbs: [...READ, 'patch'] },
  // The last good state is kept in numbered parts.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] },
];

/** ServiceAccounts, and the controller's rights. Nodes and DNS servers have none: they only speak xDS. */
export function buildRbac(): readonly Manifest[] {
  const namespace = SPOKE_NAMESPACE;
  const labels = ownLabels('controller');
  const subjects = [{ kind: 'ServiceAccount', name: CONTROLLER_NAME, namespace }];
  const roleRef = (kind: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: CONTROLLER_NAME });
  return [
    manifest(KUBE_KINDS.serviceAccount, { name: CONTROLLER_NAME, namespace, labels }, {}),
    manifest(KUBE_KINDS.serviceAccount, { name: DNS_NAME, namespace, labels: ownLabels('dns') }, { automountServiceAccountToken: false }),
    manifest(KUBE_KINDS.serviceAccount, { name: NODE_NAME, namespace, labels: ownLabels('node') }, { automountServiceAccountToken: false }),
    manifest(KUBE_KINDS.clusterRole, { name: CONTROLLER_NAME, labels }, { rules: CONTROLLER_CLUSTER_RULES }),
    manifest(KUBE_KINDS.clusterRoleBinding, { name: CONTROLLER_NAME, labels }, { roleRef: roleRef('ClusterRole'), subjects }),
    manifest(KUBE_KINDS.role, { name: CONTROLLER_NAME, namespace, labels }, { rules: CONTROLLER_NAMESPACE_RULES }),
    manifest(KUBE_KINDS.roleBinding, { name: CONTROLLER_NAME, namespace, labels }, { roleRef: roleRef('Role'), subjects }),
  ];
}
