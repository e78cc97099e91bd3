import type { SessionAffinity } from '#domain/fleet';
import type { CompositeBackendObject, LocalPart, ServiceAffinity, TrafficPreference } from '#domain/gateway-api';

import type { PlannedAffinity, TrafficDistribution } from './routing-plan.js';

/** How connections to a backend are led, as far as this cluster says it. */
export interface BackendTraits {
  readonly affinity: SessionAffinity;
  readonly timeoutSeconds: number;
  readonly trafficDistribution: TrafficDistribution;
}

/** What holds where nobody says anything; the timeout is that of Services. */
export const NO_TRAITS: BackendTraits = { affinity: 'None', timeoutSeconds: 10_800, trafficDistribution: 'None' };

/** What a Service, or an import of one, says. */
export const serviceTraits = ({ affinity, trafficDistribution }: { readonly affinity: ServiceAffinity | undefined; readonly trafficDistribution: TrafficPreference | undefined }): BackendTraits => ({
  affinity: affinity === undefined ? 'None' : 'ClientIP',
  timeoutSeconds: affinity?.timeoutSeconds ?? NO_TRAITS.timeoutSeconds,
  trafficDistribution: trafficDistribution ?? 'None',
});

/** What a CompositeBackend says; a Service as its local part supplies what it leaves open. */
export function compositeTraits({ affinity, trafficDistribution }: CompositeBackendObject, part: LocalPart | undefined): BackendTraits {
  const supplied = part?.kind === 'service' ? serviceTraits(part.service) : NO_TRAITS;
  return { ...supplied, ...affinity, trafficDistribution: trafficDistribution ?? supplied.trafficDistribution };
}

const SCOPES = { None: undefined, ClientIP: 'endpoint', Cluster: 'cluster' } as const;

/** The plan's words for an affinity. */
export function plannedAffinity(affinity: SessionAffinity, timeoutSeconds: number): PlannedAffinity | undefined {
  const scope = SCOPES[affinity];
  return scope === undefined ? undefined : { scope, timeoutSeconds };
}
