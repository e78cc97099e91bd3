import type { ClusterId, GatewayIntake, ImportSet, Locality } from '#domain/fleet';
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
  /** What gateway nodes shall take in, as the hub says; undefined while it says nothing of it. */
  readonly intake: GatewayIntake | undefined;
  /** Clusters that are known not to be reached from here now. */
  readonly unreachable: ReadonlySet<ClusterId>;
}
