import { SHARE_TOTAL_BP, type ClusterId } from '#domain/fleet';
import { splitShares } from '#domain/sameness';

import type { PlannedEndpoint } from './routing-plan.js';
import { usableEndpoints } from './usable-endpoints.js';

/** A provider, the share that the hub gave it, and what the hub assumed when it did. */
export interface PlannedShare {
  readonly clusterId: ClusterId;
  readonly shareBp: number;
  /** Ready endpoints that the share assumed, and those of now; over all ports, as the hub counts them. */
  readonly readyAssumed: number;
  readonly readyNow: number;
  /** On the port in question. */
  readonly endpoints: readonly PlannedEndpoint[];
  readonly isLocal: boolean;
  /** Whether the path to it is not known to be down. */
  readonly isReachable: boolean;
}

/**
 * The shares of now, between two words of the hub: each provider's share scaled down by ready/assumed, to nothing where the path
 * to it is down, never up, and what is left renormalised by largest remainder. Nobody gets a share that the hub did not give,
 * with one exception: where every share is worth nothing any more, local endpoints of which the hub knew none answer alone rather
 * than nobody. Where that leaves nobody either, shares are as if every path were up: a probe is no proof that calls must fail.
 */
export function scaleShares(providers: readonly PlannedShare[]): ReadonlyMap<ClusterId, number> {
  const reachable = providers.filter(({ isReachable }) => isReachable);
  const attempts = reachable.length === providers.length ? attemptsOver(providers) : [...attemptsOver(reachable), ...attemptsOver(providers)];
  const shares = attempts.map(splitShares).find((split) => split.length > 0) ?? [];
  return new Map(shares.map(({ clusterId, shareBp }) => [clusterId, shareBp]));
}

function attemptsOver(providers: readonly PlannedShare[]): readonly (readonly Weighed[])[] {
  const scaled = providers.map((provider) => ({ clusterId: provider.clusterId, capacity: hasReady(provider) ? provider.shareBp * readyRatio(provider) : 0 }));
  const unforeseen = providers.filter(({ isLocal, readyAssumed }) => isLocal && readyAssumed === 0);
  return [
    scaled,
    unforeseen.filter(hasReady).map(alone),
    // R20 over clusters: where no ready endpoint is left anywhere, those that are terminating and still serve do.
    providers.filter(hasUsable).map(({ clusterId, shareBp }) => ({ clusterId, capacity: shareBp })),
    unforeseen.filter(hasUsable).map(alone),
  ];
}

interface Weighed {
  readonly clusterId: ClusterId;
  readonly capacity: number;
}

const readyRatio = ({ readyAssumed, readyNow }: PlannedShare): number => (readyAssumed === 0 ? 1 : Math.min(1, readyNow / readyAssumed));
const hasReady = ({ endpoints }: PlannedShare): boolean => endpoints.some(({ state }) => state === 'ready');
const hasUsable = ({ endpoints }: PlannedShare): boolean => usableEndpoints(endpoints).length > 0;
const alone = ({ clusterId }: PlannedShare): Weighed => ({ clusterId, capacity: SHARE_TOTAL_BP });
