import { countReady, type BackendName, type ClusterId, type Endpoint, type FleetView, type MemberBackend } from '#domain/fleet';

/** Whether an endpoint that is ready answers on the port at this index of its backend's ports. */
export const hasReadyEndpoint = (endpoints: readonly Endpoint[], portIndex: number): boolean => endpoints.some((endpoint) => endpoint.ready && (endpoint.targetPorts[portIndex] ?? 0) > 0);

/** Ready endpoints times what one of them takes; capacity belongs to the backend, and its ports share it. */
export const readyCapacity = (backend: MemberBackend): number => countReady(backend.endpoints) * Math.max(0, backend.capacity.perEndpoint);

/** What every member could take of every backend right now, stale members left out: what a freeze stores to hold shares. */
export function readyCapacities(view: FleetView): ReadonlyMap<BackendName, ReadonlyMap<ClusterId, number>> {
  const capacities = new Map<BackendName, ReadonlyMap<ClusterId, number>>();
  for (const [name, parts] of view.parts) {
    const counted = parts.filter(({ clusterId, backend }) => canServe(view, clusterId) && readyCapacity(backend) > 0);
    if (counted.length > 0) capacities.set(name, new Map(counted.map(({ clusterId, backend }) => [clusterId, readyCapacity(backend)])));
  }
  return capacities;
}

function canServe(view: FleetView, id: ClusterId): boolean {
  const member = view.members.get(id);
  return member !== undefined && member.freshness !== 'stale';
}
