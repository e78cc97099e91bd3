import { Counter, Gauge, type Registry } from 'prom-client';

import type { XdsClient } from './xds-client.js';

/** Registers metrics of a client's state, read at scrape time. */
export function registerXdsClientMetrics(registry: Registry, client: XdsClient): void {
  const gauge = (name: string, help: string, isSo: () => boolean): void => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(isSo() ? 1 : 0) });
  };
  gauge('spillway_xds_client_connected', '1 while the xDS server answers; at 0 the last state stays in force.', () => client.status().isConnected);
  gauge('spillway_xds_client_synced', '1 once a whole state was applied.', () => client.status().hasSynced);
  gauge('spillway_xds_client_rejecting', '1 while the newest state cannot be applied.', () => client.status().lastRejection !== undefined);
  const lost: Counter = new Counter({
    name: 'spillway_xds_client_lost_total',
    help: 'Connections to the xDS server that came to nothing or ended; the log says why.',
    registers: [registry],
    collect: () => {
      lost.reset();
      lost.inc(client.status().lostCount);
    },
  });
}
