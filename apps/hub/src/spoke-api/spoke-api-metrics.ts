import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Metrics of the machine listener. */
export interface SpokeApiMetrics {
  /** One finished call: its method, its outcome (`ok` or an error code), and how long it took. */
  finished(method: string, outcome: string, seconds: number): void;
}

/** What is read at scrape time. */
interface SpokeApiState {
  readonly longPolls: () => number;
  readonly lostHistory: () => number;
  readonly replayEntries: () => number;
  readonly viewSequence: () => bigint;
}

/** Registers the metrics of the machine listener. */
export function createSpokeApiMetrics(registry: Registry, state: SpokeApiState): SpokeApiMetrics {
  const calls = new Counter({ name: 'spillway_hub_spoke_calls_total', help: 'Calls of the spoke API by method and outcome.', labelNames: ['method', 'outcome'], registers: [registry] });
  const seconds = new Histogram({
    name: 'spillway_hub_spoke_call_seconds',
    help: 'Time to answer a call of the spoke API; Sync waits for news.',
    labelNames: ['method'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
    registers: [registry],
  });
  gauge(registry, 'spillway_hub_spoke_long_polls', 'Sync calls that wait for news.', state.longPolls);
  gauge(registry, 'spillway_hub_lost_history_callers', 'Spokes that know what the database does not hold; above 0, declare the restore.', state.lostHistory);
  gauge(registry, 'spillway_hub_spoke_replay_entries', 'Token ids that are remembered against replay.', state.replayEntries);
  gauge(registry, 'spillway_hub_view_sequence', 'Number of the last change in the fleet view of this replica.', () => Number(state.viewSequence()));
  return {
    finished: (method, outcome, tookSeconds) => {
      calls.inc({ method, outcome });
      seconds.observe({ method }, tookSeconds);
    },
  };
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
