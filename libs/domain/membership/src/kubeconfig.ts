import type { Problem } from '#domain/fleet';

import { clusterProblems } from './kubeconfig-cluster.js';
import { asRecord, asText, type KubeconfigEntry, type PlainRecord } from './kubeconfig-fields.js';
import { userProblems } from './kubeconfig-user.js';

/** What a registration says beside the kubeconfig itself. */
export interface KubeconfigOptions {
  /** The context to use; default is the file's `current-context`, or its only context. */
  readonly contextName?: string | undefined;
  /** Allows servers on loopback and link-local addresses; for the embedded default only. */
  readonly allowLocalServers: boolean;
}

/** Longest kubeconfig that is read, in characters. */
export const KUBECONFIG_LENGTH_MAX = 256 * 1024;

/** The parts of a kubeconfig that its chosen context names. */
export interface KubeconfigChoice {
  readonly contextName: string;
  readonly cluster: KubeconfigEntry;
  readonly user: KubeconfigEntry;
}

/**
 * Everything wrong with a kubeconfig (plain data, as parsed from YAML), in file order. Only what the chosen context
 * names is looked at: the rest is never stored or used ({@link chosenKubeconfig}).
 */
export function kubeconfigProblems(raw: unknown, options: KubeconfigOptions): readonly Problem[] {
  const choice = chooseContext(raw, options);
  if ('problems' in choice) return choice.problems;
  return [...clusterProblems(choice.cluster, options), ...userProblems(choice.user)];
}

/** A kubeconfig of nothing but the chosen context, its cluster and its user: all that the hub keeps. Only for one without problems. */
export function chosenKubeconfig(raw: unknown, options: KubeconfigOptions): PlainRecord | undefined {
  const choice = chooseContext(raw, options);
  if ('problems' in choice) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'member',
    contexts: [{ name: 'member', context: { cluster: 'member', user: 'member' } }],
    clusters: [{ name: 'member', cluster: choice.cluster.value }],
    users: [{ name: 'member', user: choice.user.value }],
  };
}

/** The cluster and the user that a kubeconfig's context names, or why there are none. */
export function chooseContext(raw: unknown, options: KubeconfigOptions): KubeconfigChoice | { readonly problems: readonly Problem[] } {
  const config = asRecord(raw);
  if (config === undefined) return problem('', 'KUBECONFIG_NOT_AN_OBJECT', 'This is no kubeconfig: it must be a YAML or JSON object with clusters, users and contexts.');
  const contexts = entriesOf(config, 'contexts', 'context');
  const name = contextName(config, contexts, options);
  if (typeof name !== 'string') return name;
  const context = contexts.find((entry) => entry.name === name);
  if (context === undefined) return problem('contexts', 'KUBECONFIG_CONTEXT_UNKNOWN', `There is no context "${name}"; the file has ${namesOf(contexts)}.`);
  const cluster = referred(config, context, { list: 'clusters', field: 'cluster', code: 'KUBECONFIG_CLUSTER_UNKNOWN' });
  const user = referred(config, context, { list: 'users', field: 'user', code: 'KUBECONFIG_USER_UNKNOWN' });
  if ('code' in cluster || 'code' in user) return { problems: [cluster, user].filter((part) => 'code' in part) };
  return { contextName: name, cluster, user };
}

const problem = (path: string, code: string, message: string): { readonly problems: readonly Problem[] } => ({ problems: [{ path, code, message }] });

function contextName(config: PlainRecord, contexts: readonly KubeconfigEntry[], options: KubeconfigOptions): string | { readonly problems: readonly Problem[] } {
  const chosen = options.contextName ?? asText(config['current-context']);
  if (chosen !== undefined && chosen !== '') return chosen;
  const [first, second] = contexts;
  if (first === undefined) return problem('contexts', 'KUBECONFIG_NO_CONTEXT', 'The file has no context; add one that names a cluster and a user.');
  if (second !== undefined) {
    return problem('contexts', 'KUBECONFIG_CONTEXT_AMBIGUOUS', `The file has several contexts (${namesOf(contexts)}) and no current-context; say which one to use.`);
  }
  return first.name;
}

const namesOf = (entries: readonly KubeconfigEntry[]): string => (entries.length === 0 ? 'none' : entries.map((entry) => entry.name).join(', '));

function entriesOf(config: PlainRecord, list: string, field: string): KubeconfigEntry[] {
  const items = config[list];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown, index) => {
    const record = asRecord(item);
    const name = asText(record?.['name']);
    if (record === undefined || name === undefined) return [];
    return [{ name, path: `${list}[${index}].${field}`, value: asRecord(record[field]) ?? {} }];
  });
}

function referred(
  config: PlainRecord,
  context: KubeconfigEntry,
  wanted: { readonly list: string; readonly field: string; readonly code: string },
): KubeconfigEntry | Problem {
  const name = asText(context.value[wanted.field]) ?? '';
  const found = entriesOf(config, wanted.list, wanted.field).find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const message = name === '' ? `The context "${context.name}" names no ${wanted.field}.` : `The context "${context.name}" names the ${wanted.field} "${name}", which the file does not have.`;
  return { path: `${context.path}.${wanted.field}`, code: wanted.code, message };
}
