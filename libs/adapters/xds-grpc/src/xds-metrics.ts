import { Counter, Gauge, type Registry } from 'prom-client';

/** What the server counts; labels have closed value sets. */
export interface XdsServerMetrics {
  readonly requests: Counter<'outcome'>;
  readonly refusedStreams: Counter<'reason'>;
  readonly pauses: Counter;
}

/** Gauges that are read at scrape time. */
export interface XdsServerGauges {
  streamCount(): number;
  awaitingCount(): number;
  resourceCount(type: 'cluster' | 'load_assignment'): number;
}

/** Registers the server's metrics. */
export function createXdsServerMetrics(registry: Registry, gauges: XdsServerGauges): XdsServerMetrics {
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
  };
  gauge('spillway_xds_streams', 'Open xDS streams.', () => gauges.streamCount());
  gauge('spillway_xds_streams_awaiting_answer', 'Streams whose client has not acknowledged the last changes yet.', () => gauges.awaitingCount());
  const resources: Gauge<'type'> = new Gauge({
    name: 'spillway_xds_resources',
    help: 'Resources served.',
    labelNames: ['type'],
    registers: [registry],
    collect: () => {
      for (const type of ['cluster', 'load_assignment'] as const) resources.set({ type }, gauges.resourceCount(type));
    },
  });
  return {
    requests: new Counter({ name: 'spillway_xds_requests_total', help: 'Requests on xDS streams by what they were.', labelNames: ['outcome'], registers: [registry] }),
    refusedStreams: new Counter({ name: 'spillway_xds_refused_streams_total', help: 'Streams that were refused or ended by the server.', labelNames: ['reason'], registers: [registry] }),
    pauses: new Counter({ name: 'spillway_xds_pauses_total', help: 'Times that a stream was not read from for a while, because it asked too fast.', registers: [registry] }),
  };
}
