import { byKey, type Endpoint } from '#domain/fleet';

import type { PlannedEndpoint } from './routing-plan.js';

/** The endpoints that have a port, sorted by address and port, with the names that some of their addresses have. */
export function planEndpoints(endpoints: readonly Endpoint[], portIndex: number, hostnames?: ReadonlyMap<string, string>): readonly PlannedEndpoint[] {
  return endpoints
    .flatMap((endpoint): readonly PlannedEndpoint[] => {
      const port = endpoint.targetPorts[portIndex] ?? 0;
      return port === 0 ? [] : [{ address: endpoint.address, port, state: stateOf(endpoint), zone: endpoint.zone, node: endpoint.node, hostname: hostnames?.get(endpoint.address) ?? '' }];
    })
    .sort((a, b) => byKey<PlannedEndpoint>(({ address }) => address)(a, b) || a.port - b.port);
}

function stateOf({ ready, serving, terminating }: Endpoint): PlannedEndpoint['state'] {
  if (ready && !terminating) return 'ready';
  return serving && terminating ? 'serving-terminating' : 'not-ready';
}
