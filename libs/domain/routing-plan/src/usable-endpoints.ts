import type { PlannedEndpoint } from './routing-plan.js';

/** The endpoints that take new connections: the ready ones, else the serving ones that are terminating (R20, KEP-1669). */
export function usableEndpoints(endpoints: readonly PlannedEndpoint[]): readonly PlannedEndpoint[] {
  const ready = endpoints.filter((endpoint) => endpoint.state === 'ready');
  return ready.length > 0 ? ready : endpoints.filter((endpoint) => endpoint.state === 'serving-terminating');
}
