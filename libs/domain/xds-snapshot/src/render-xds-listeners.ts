import { byKey, digest } from '#domain/fleet';
import { frontendKey, type Frontend, type FrontendListener } from '#domain/routing-plan';

import { rejectClusterName, type XdsListener, type XdsWeightedCluster } from './xds-resources.js';

/**
 * The listeners that gRPC clients ask for by the name that they would dial: `<dns name>:<port>` of every frontend with a TCP
 * port. What of a listener is refused leads to the frontend's reject cluster, which no gRPC client can use: such calls fail at
 * once, as connections do (R12). Sorted by name.
 */
export function renderXdsListeners(frontends: readonly Frontend[]): readonly XdsListener[] {
  return frontends
    .filter(({ callers }) => callers === undefined)
    .flatMap((frontend) => frontend.listeners.filter(({ protocol }) => protocol === 'TCP').flatMap((listener) => frontend.dnsNames.map((dnsName) => renderListener(`${dnsName}:${listener.port}`, frontend, listener))))
    .sort(byKey((listener) => listener.name));
}

function renderListener(name: string, frontend: Frontend, { uses, rejectWeight }: FrontendListener): XdsListener {
  const rejected: XdsWeightedCluster[] = rejectWeight > 0 || uses.length === 0 ? [{ name: rejectClusterName(frontendKey(frontend)), weight: Math.max(1, rejectWeight) }] : [];
  const clusters = [...uses.map(({ backend, weight }): XdsWeightedCluster => ({ name: backend, weight })), ...rejected];
  return { name, version: digest(JSON.stringify(clusters)), clusters };
}
