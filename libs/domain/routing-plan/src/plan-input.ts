import type { ClusterId, ImportSet, Locality } from '#domain/fleet';
import type { AcceptedFrontend } from '#domain/gateway-api';

import type { LocalObjects } from './local-objects.js';

/** Everything that a cluster's routing plan is made from. */
export interface RoutingPlanInput {
  /** This cluster; any fixed id before it is enrolled. */
  readonly clusterId: ClusterId;
  readonly locality: Locality;
  readonly frontends: readonly AcceptedFrontend[];
  readonly local: LocalObjects;
  /** What the hub says; undefined before it has said anything: then each backend is its local part alone. */
  readonly imports: ImportSet | undefined;
}
