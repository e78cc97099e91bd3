import { isRfc1123Label, type ClusterSelector, type Problem, type SamenessPolicy } from '#domain/fleet';

/** The most namespace patterns, and the most cluster names of one selector, that a policy may list. */
export const POLICY_LIST_MAX = 1_000;

/** The longest owner text. */
const POLICY_OWNER_LENGTH_MAX = 253;

/** Everything wrong with a policy, in the order of its fields; empty where it may be stored. */
export function policyProblems(policy: SamenessPolicy): readonly Problem[] {
  return [
    ...nameProblems(policy.name),
    ...namespacesProblems(policy.namespaces),
    ...selectorProblems('mayExport', policy.mayExport),
    ...selectorProblems('mayImport', policy.mayImport),
    ...ownerProblems(policy.owner),
  ];
}

function nameProblems(name: string): readonly Problem[] {
  if (isRfc1123Label(name)) return [];
  return [{ path: 'name', code: 'POLICY_NAME_INVALID', message: `"${name}" is no policy name: use at most 63 lower case letters, digits and "-", with a letter or digit at both ends.` }];
}

function ownerProblems(owner: string): readonly Problem[] {
  if (owner.length <= POLICY_OWNER_LENGTH_MAX) return [];
  return [{ path: 'owner', code: 'POLICY_OWNER_TOO_LONG', message: `The owner has ${owner.length} characters; use at most ${POLICY_OWNER_LENGTH_MAX}.` }];
}

function namespacesProblems(patterns: readonly string[]): readonly Problem[] {
  if (patterns.length === 0) return [{ path: 'namespaces', code: 'POLICY_NAMESPACES_EMPTY', message: 'The policy covers no namespace; list at least one name or prefix that ends in "*".' }];
  if (patterns.length > POLICY_LIST_MAX) return [tooLong('namespaces', patterns.length)];
  return patterns.flatMap((pattern, index) => {
    const path = `namespaces[${index}]`;
    if (!isPattern(pattern)) {
      return [{ path, code: 'POLICY_NAMESPACE_INVALID', message: `"${pattern}" is neither a namespace name nor the start of one followed by a single "*".` }];
    }
    if (patterns.indexOf(pattern) < index) return [{ path, code: 'POLICY_NAMESPACE_TWICE', message: `"${pattern}" is listed twice; remove one.` }];
    return [];
  });
}

// A prefix may end in "-", which no whole name may, so a letter stands for the rest.
const isPattern = (pattern: string): boolean => (pattern.endsWith('*') ? isRfc1123Label(`${pattern.slice(0, -1)}x`) : isRfc1123Label(pattern));

const tooLong = (path: string, count: number): Problem => ({ path, code: 'POLICY_LIST_TOO_LONG', message: `${count} entries; use at most ${POLICY_LIST_MAX}, or a "*" pattern or labels.` });

function selectorProblems(path: string, selector: ClusterSelector): readonly Problem[] {
  const labels = Object.entries(selector.matchLabels);
  const named = selector.names.length > 0 || labels.length > 0;
  if (selector.all && named) return [{ path, code: 'POLICY_SELECTOR_AMBIGUOUS', message: 'The selector selects all clusters and also lists some; keep either "all" or the list.' }];
  if (!selector.all && !named) return [{ path, code: 'POLICY_SELECTOR_EMPTY', message: 'The selector selects no cluster; give names, labels or "all".' }];
  if (selector.names.length > POLICY_LIST_MAX) return [tooLong(`${path}.names`, selector.names.length)];
  return [...clusterNameProblems(`${path}.names`, selector.names), ...labels.flatMap(([key, value]) => labelProblems(`${path}.matchLabels`, key, value))];
}

function clusterNameProblems(path: string, names: readonly string[]): readonly Problem[] {
  return names.flatMap((name, index) => {
    if (!isRfc1123Label(name)) return [{ path: `${path}[${index}]`, code: 'POLICY_CLUSTER_NAME_INVALID', message: `"${name}" is no cluster name: use at most 63 lower case letters, digits and "-".` }];
    if (names.indexOf(name) < index) return [{ path: `${path}[${index}]`, code: 'POLICY_CLUSTER_NAME_TWICE', message: `"${name}" is listed twice; remove one.` }];
    return [];
  });
}

const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_PREFIX = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** What is wrong with one label by the rules of Kubernetes labels; `path` names the map that holds it. */
export function labelProblems(path: string, key: string, value: string): readonly Problem[] {
  const [name = '', prefix, more] = key.split('/').reverse();
  const keyIsFine = more === undefined && LABEL_NAME.test(name) && (prefix === undefined || LABEL_PREFIX.test(prefix));
  const valueIsFine = value === '' || LABEL_NAME.test(value);
  return [
    ...(keyIsFine ? [] : [{ path: `${path}.${key}`, code: 'LABEL_KEY_INVALID', message: `"${key}" is no label key: use an optional DNS prefix and "/", then at most 63 letters, digits, "-", "_" and ".".` }]),
    ...(valueIsFine ? [] : [{ path: `${path}.${key}`, code: 'LABEL_VALUE_INVALID', message: `"${value}" is no label value: use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends.` }]),
  ];
}
