import { byKey, type NamespacedName } from '#domain/fleet';

import type { AcceptedFrontend, GatewayDecisions } from './gateway-decisions.js';
import { gatewayDnsNames, objectKey } from './names.js';

/** The addresses that a Gateway holds. */
export interface HeldAddresses {
  readonly held: readonly string[];
}

/** Everything that serves: Gateways with the addresses they hold, Services that routes have taken over, ServiceImports. Sorted. */
export function acceptedFrontends(decisions: GatewayDecisions, assignments: ReadonlyMap<string, HeldAddresses>, clusterDomain: string): readonly AcceptedFrontend[] {
  const gateways = decisions.gateways
    .filter(({ accepted }) => accepted.ok)
    .map(({ gateway, listeners }): AcceptedFrontend => {
      const name: NamespacedName = { namespace: gateway.meta.namespace, name: gateway.meta.name };
      return {
        kind: 'gateway',
        callersNamespace: undefined,
        isHeadless: false,
        ...name,
        addresses: [...(assignments.get(objectKey(name))?.held ?? [])].sort(),
        dnsNames: gatewayDnsNames(name, clusterDomain),
        listeners: listeners.flatMap(({ serving }) => serving ?? []).sort(byKey((listener) => listener.name)),
      };
    });
  return [...gateways, ...decisions.otherFrontends].sort(byKey(acceptedFrontendKey));
}

/** What tells frontends apart. Gateways have no kind in it: theirs is the plain `namespace/name`. */
export function acceptedFrontendKey({ kind, callersNamespace, namespace, name }: Pick<AcceptedFrontend, 'kind' | 'callersNamespace' | 'namespace' | 'name'>): string {
  const object = kind === 'gateway' ? `${namespace}/${name}` : `${kind}:${namespace}/${name}`;
  return callersNamespace === undefined ? object : `${object}@${callersNamespace}`;
}
