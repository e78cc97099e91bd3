import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

import type { HubPhase, HubStatus } from './hub/hub-status.js';
import type { World } from './observe/world.js';

/** What the controller counts as it goes. */
export interface ControllerMetrics {
  readonly planDuration: Histogram;
  readonly planFailures: Counter;
  readonly snapshots: Counter;
  readonly statusesWritten: Counter;
  readonly statusConflicts: Counter;
  readonly addressRaces: Counter;
  readonly unreadableObjects: Counter<'kind'>;
  readonly unfitParts: Gauge;
  readonly watchFailures: Counter<'kind'>;
}

/** What is read at scrape time; nothing of it leaves the process (C81). */
export interface ControllerGauges {
  readonly world: World;
  readonly hub: () => HubStatus | undefined;
  readonly importBackends: () => number;
  readonly importChangedMs: () => number | undefined;
  readonly isLeading: () => boolean;
}

const PHASES: readonly HubPhase[] = ['no-join-token', 'enrolling', 'linked', 'away', 'unknown-member', 'refused'];

/** Registers the controller's metrics. */
export function createControllerMetrics(registry: Registry, gauges: ControllerGauges): ControllerMetrics {
  registerGauges(registry, gauges);
  registerWatchGauges(registry, gauges.world);
  const registers = [registry];
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  return {
    planDuration: new Histogram({ name: 'spillway_plan_duration_seconds', help: 'Time from observed objects to a served snapshot.', buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5], registers }),
    planFailures: counter('spillway_plan_failures_total', 'Plans that failed; each is a bug.'),
    snapshots: counter('spillway_snapshots_total', 'Snapshots that differed from the one before.'),
    statusesWritten: counter('spillway_statuses_written_total', 'Statuses written to the API server.'),
    statusConflicts: counter('spillway_status_conflicts_total', 'Status writes that met a newer version, and were planned anew.'),
    addressRaces: counter('spillway_address_races_total', 'Addresses that another had claimed a moment before.'),
    unreadableObjects: new Counter({ name: 'spillway_unreadable_objects_total', help: 'Objects that were left out since they do not read.', labelNames: ['kind'], registers }),
    unfitParts: new Gauge({ name: 'spillway_unfit_parts', help: 'Things of this cluster that cannot be offered to others, since they are over a limit of the hub; the log names them.', registers }),
    watchFailures: new Counter({ name: 'spillway_watch_failures_total', help: 'Failures of watches; each is tried again.', labelNames: ['kind'], registers }),
  };
}

function registerGauges(registry: Registry, { hub, importBackends, importChangedMs, isLeading }: ControllerGauges): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
  };
  const seconds = (ms: number | undefined): number => (ms ?? 0) / 1000;
  gauge('spillway_leader', 'Whether this replica holds the Lease and writes.', () => Number(isLeading()));
  gauge('spillway_hub_report_last_success_timestamp_seconds', 'When the hub last took a report; 0 before the first.', () => seconds(hub()?.lastReportMs));
  gauge('spillway_hub_sync_last_success_timestamp_seconds', 'When the hub last answered a sync; 0 before the first.', () => seconds(hub()?.lastSyncMs));
  gauge('spillway_hub_clock_offset_seconds', 'How far the hub\'s clock is ahead of ours.', () => seconds(hub()?.clockOffsetMs));
  gauge('spillway_hub_key_since_timestamp_seconds', 'Since when the key that signs for this cluster is in use; 0 where that is unknown.', () => seconds(hub()?.keySinceMs));
  gauge('spillway_import_backends', 'Fleet backends that the hub has told of.', importBackends);
  gauge('spillway_import_last_change_timestamp_seconds', 'When what the hub tells last changed; 0 before the first time.', () => seconds(importChangedMs()));
  const phase: Gauge<'phase'> = new Gauge({
    name: 'spillway_hub_link',
    help: 'Where the link to the hub stands: 1 for the present phase.',
    labelNames: ['phase'],
    registers: [registry],
    collect: () => {
      for (const one of PHASES) phase.set({ phase: one }, Number(hub()?.phase === one));
    },
  });
}

function registerWatchGauges(registry: Registry, world: World): void {
  const perKind = (name: string, help: string, read: (kind: World['kinds'][number]) => number): void => {
    const metric: Gauge<'kind'> = new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [registry],
      collect: () => {
        for (const kind of world.kinds) metric.set({ kind: kind.spec.kind.kind }, read(kind));
      },
    });
  };
  perKind('spillway_watch_objects', 'Objects held of a kind.', (kind) => kind.size);
  perKind('spillway_watch_synced', 'Whether the first list of a kind is complete.', (kind) => Number(kind.state === 'complete'));
  perKind('spillway_watch_kind_missing', 'Whether the cluster does not serve a kind.', (kind) => Number(kind.state === 'missing'));
  perKind('spillway_watch_lost_timestamp_seconds', 'Since when the watch of a kind is away from the API server; 0 while it is not.', (kind) => (kind.lostSinceMs ?? 0) / 1000);
}
