import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What the worker counts. */
export interface WorkerMetrics {
  reconciled(outcome: string, seconds: number): void;
}

/** Registers the worker's metrics. */
export function createWorkerMetrics(registry: Registry, isJudge: () => boolean): WorkerMetrics {
  const registers = [registry];
  const total = new Counter({ name: 'spillway_worker_reconciles_total', help: 'Visits to members, by how they ended: ok, or the kind of the error.', labelNames: ['outcome'], registers });
  const duration = new Histogram({ name: 'spillway_worker_reconcile_seconds', help: 'Time that a visit to a member took.', buckets: [0.05, 0.2, 1, 5, 30, 60], registers });
  new Gauge({
    name: 'spillway_worker_is_judge',
    help: 'Whether this worker judges the fleet (1) or another one does (0).',
    registers,
    collect() {
      this.set(isJudge() ? 1 : 0);
    },
  });
  return {
    reconciled: (outcome, seconds) => {
      total.inc({ outcome });
      duration.observe(seconds);
    },
  };
}
