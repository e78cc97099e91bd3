import { digest } from '#domain/fleet';

import type { Frontend, RoutingPlan } from './routing-plan.js';

/**
 * The version of a frontend that nodes acknowledge: its addresses, names, listeners and which backends they lead to. Who
 * answers for those backends is not part of it, so that a pod that comes or goes makes no Gateway unprogrammed.
 */
export const frontendVersion = (frontend: Frontend): string => digest(JSON.stringify(frontend));

/** The version of a whole plan: equal plans have equal versions, on every replica. */
export const planVersion = (plan: RoutingPlan): string => digest(JSON.stringify(plan));
