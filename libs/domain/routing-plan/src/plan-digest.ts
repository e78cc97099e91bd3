import { digest } from '#domain/fleet';

import type { Frontend } from './routing-plan.js';

/**
 * The version of a frontend that nodes acknowledge: its addresses, names, listeners and which backends they lead to. Who
 * answers for those backends is not part of it, so that a pod that comes or goes makes no Gateway unprogrammed.
 */
export const frontendVersion = (frontend: Frontend): string => digest(JSON.stringify(frontend));
