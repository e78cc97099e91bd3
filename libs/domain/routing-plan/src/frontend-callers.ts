import { keepSame, type Lookup } from '#domain/fleet';
import type { AcceptedFrontend } from '#domain/gateway-api';

import type { PodObject } from './local-objects.js';

/** The addresses by which pods of a namespace call, sorted, by namespace; only of those that some frontend is for. */
export interface CallerAddresses extends Lookup<readonly string[]> {
  readonly pods: readonly PodObject[];
  readonly namespaces: string;
  readonly byNamespace: ReadonlyMap<string, readonly string[]>;
}

/**
 * Finds the callers of consumer routes (GEP-1294). The result depends on frontends and pods alone, `previous` only saves
 * work. A pod on its node's network calls under its node's address, which is not its namespace's.
 */
export function callerAddresses(frontends: readonly AcceptedFrontend[], pods: readonly PodObject[], previous?: CallerAddresses): CallerAddresses {
  const wanted = [...new Set(frontends.flatMap(({ callersNamespace }) => callersNamespace ?? []))].sort();
  const namespaces = wanted.join(' ');
  if (previous?.namespaces === namespaces && (previous.pods === pods || wanted.length === 0)) return previous;
  const found = wanted.length === 0 ? new Map<string, PodObject[]>() : Map.groupBy(pods.filter(isCaller), ({ namespace }) => namespace);
  const addresses = wanted.map((namespace): readonly [string, readonly string[]] => {
    const all = [...new Set((found.get(namespace) ?? []).flatMap((pod) => pod.addresses))].sort();
    return [namespace, keepSame(previous?.byNamespace.get(namespace), all)];
  });
  const byNamespace = new Map(addresses);
  if (previous?.namespaces === namespaces && addresses.every(([namespace, list]) => previous.byNamespace.get(namespace) === list)) return previous;
  return { pods, namespaces, byNamespace, get: (namespace) => byNamespace.get(namespace) };
}

const isCaller = ({ isFinished, isOnHostNetwork }: PodObject): boolean => !isFinished && !isOnHostNetwork;
