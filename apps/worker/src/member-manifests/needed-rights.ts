import { byKey } from '#domain/fleet';
import { describeRight, type NeededRight } from '#domain/membership';

import { CONTROLLER_CLUSTER_RULES, CONTROLLER_NAMESPACE_RULES, type PolicyRule } from './build-rbac.js';
import { SPOKE_NAMESPACE, type Manifest } from './manifest.js';

/** What server-side apply, the check of what is there, and removal need for every installed kind. */
const INSTALL_VERBS = ['get', 'create', 'patch', 'delete'];

/**
 * Every right that the hub's credential needs in a member: to install, to look and to clean up, and, since nobody may grant
 * what he does not have, all that the controller is granted. Sorted, each once.
 */
export function neededRights(manifests: readonly Manifest[]): readonly NeededRight[] {
  const rights = [...manifests.flatMap(installRights), ...HUB_RIGHTS, ...grantedRights(CONTROLLER_CLUSTER_RULES, undefined), ...grantedRights(CONTROLLER_NAMESPACE_RULES, SPOKE_NAMESPACE)];
  const unique = new Map(rights.map((right) => [describeRight(right), right]));
  // A right in the whole cluster includes the one in our namespace.
  return [...unique.values()].filter((right) => right.namespace === undefined || !unique.has(describeRight({ ...right, namespace: undefined }))).sort(byKey(describeRight));
}

const HUB_RIGHTS: readonly NeededRight[] = [
  { verb: 'get', group: '', resource: 'namespaces' },
  { verb: 'list', group: '', resource: 'nodes' },
  { verb: 'list', group: '', resource: 'pods', namespace: SPOKE_NAMESPACE },
  ...['get', 'create', 'patch'].map((verb) => ({ verb, group: '', resource: 'secrets', namespace: SPOKE_NAMESPACE })),
  { verb: 'list', group: 'networking.k8s.io', resource: 'servicecidrs' },
];

// CustomResourceDefinitions hold users' objects: they are never deleted.
function installRights({ kind, object }: Manifest): readonly NeededRight[] {
  const verbs = kind.kind === 'CustomResourceDefinition' ? INSTALL_VERBS.filter((verb) => verb !== 'delete') : INSTALL_VERBS;
  return verbs.map((verb) => ({ verb, group: kind.group, resource: kind.plural, namespace: object.metadata.namespace }));
}

const grantedRights = (rules: readonly PolicyRule[], namespace: string | undefined): readonly NeededRight[] =>
  rules.flatMap((rule) => rule.apiGroups.flatMap((group) => rule.resources.flatMap((resource) => rule.verbs.map((verb) => ({ verb, group, resource, namespace: rule.resourceNames?.[0] === SPOKE_NAMESPACE ? undefined : namespace })))));
