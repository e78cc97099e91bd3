import type { Logger } from '#platform';
import type { Clock } from '#ports';

import type { WorkerMetrics } from './metrics.js';

/** What keys are worked on with, beside the ports. */
export interface ProcessorTools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: WorkerMetrics;
  readonly settings: { readonly concurrency: number; readonly resyncIntervalMs: number };
}

/** Injection token of {@link ProcessorTools}. */
export const PROCESSOR_TOOLS = Symbol('ProcessorTools');
