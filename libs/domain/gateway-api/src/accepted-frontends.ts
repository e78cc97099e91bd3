import { byKey, type NamespacedName } from '#domain/fleet';

import type { AcceptedFrontend, GatewayDecisions } from './gateway-decisions.js';
import { gatewayDnsNames, objectKey } from './names.js';

/** The addresses that a Gateway holds. */
export interface HeldAddresses {
  readonly held: readonly string[];
}

/** The Gateways that serve, with the addresses they hold; sorted by namespace and name. */
export function acceptedFrontends(decisions: GatewayDecisions, assignments: ReadonlyMap<string, HeldAddresses>, clusterDomain: string): readonly AcceptedFrontend[] {
  return decisions.gateways
    .filter(({ accepted }) => accepted.ok)
    .map(({ gateway, listeners }): AcceptedFrontend => {
      const name: NamespacedName = { namespace: gateway.meta.namespace, name: gateway.meta.name };
      return {
        ...name,
        addresses: [...(assignments.get(objectKey(name))?.held ?? [])].sort(),
        dnsNames: gatewayDnsNames(name, clusterDomain),
        listeners: listeners.flatMap(({ serving }) => serving ?? []).sort(byKey((listener) => listener.name)),
      };
    })
    .sort(byKey(objectKey));
}
