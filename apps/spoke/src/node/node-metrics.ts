import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

import type { NftRuleset } from '#domain/nft-ruleset';
import type { NftApplied } from '#ports';

import type { NftWay } from './open-nft.js';

/** What a node's operator can see of the table. */
export class NodeMetrics {
  readonly #applySeconds: Histogram;
  readonly #operations: Counter;
  readonly #applyErrors: Counter;
  readonly #foreignChanges: Counter;
  readonly #appliedAt: Gauge;
  readonly #frontends: Gauge;
  readonly #unsupported: Gauge;
  readonly #way: Gauge;

  constructor(registry: Registry, rejectedConnections: () => number) {
    const registers = [registry];
    this.#applySeconds = new Histogram({
      name: 'spillway_node_apply_seconds',
      help: 'Time to bring the kernel to a ruleset.',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    });
    this.#operations = new Counter({ name: 'spillway_node_operations_total', help: 'Operations sent to the kernel.', registers });
    this.#applyErrors = new Counter({ name: 'spillway_node_apply_errors_total', help: 'Rulesets that could not be applied, by code.', labelNames: ['code'], registers });
    this.#foreignChanges = new Counter({ name: 'spillway_node_foreign_changes_total', help: 'Times that somebody else changed or flushed the table.', registers });
    this.#appliedAt = new Gauge({ name: 'spillway_node_applied_timestamp_seconds', help: 'When the newest ruleset came into force.', registers });
    this.#frontends = new Gauge({ name: 'spillway_node_frontends', help: 'Front-end addresses and ports in force.', registers });
    this.#unsupported = new Gauge({ name: 'spillway_node_unsupported_listeners', help: 'What this node does not carry of its plan (an address that is taken, affinity without a time).', registers });
    this.#way = new Gauge({ name: 'spillway_node_nft_way', help: '1 for the way to the kernel that is in use.', labelNames: ['way'], registers });
    const rejected: Counter = new Counter({
      name: 'spillway_node_rejected_connections_total',
      help: 'Connections that the table refused; starts again when the table is made anew.',
      registers,
      collect: () => {
        rejected.reset();
        rejected.inc(rejectedConnections());
      },
    });
  }

  opened(way: NftWay): void {
    this.#way.reset();
    this.#way.set({ way }, 1);
  }

  applied(ruleset: NftRuleset, applied: NftApplied, nowMs: number): void {
    this.#applySeconds.observe(applied.durationMs / 1_000);
    this.#operations.inc(applied.operations);
    this.#appliedAt.set(nowMs / 1_000);
    this.#frontends.set(ruleset.tables.flatMap(({ sets }) => sets).reduce((count, set) => (set.kind === 'verdicts' ? count + set.elements.length : count), 0));
    this.#unsupported.set(ruleset.unsupported.length);
  }

  failed(code: string): void {
    this.#applyErrors.inc({ code });
  }

  foreignChange(): void {
    this.#foreignChanges.inc();
  }
}
