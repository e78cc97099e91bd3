import { Counter, Gauge, type Registry } from 'prom-client';

import type { DnsZone } from '#domain/dns-records';
import { FleetError } from '#domain/fleet';

import { DNS_OUTCOMES, DnsResponder, type DnsOutcome } from './dns-responder.js';
import { TCP_ENDINGS, type TcpLimits } from './tcp-door.js';
import { listenTcp, type TcpListener } from './tcp-listener.js';
import { listenUdp, type UdpListener } from './udp-listener.js';

/** Bounds of the server; each has a default. */
export interface DnsServerLimits extends TcpLimits {
  /** Positive UDP responses kept ready. */
  readonly keptResponsesMax: number;
}

/** Defaults of {@link DnsServerLimits}. */
const DNS_SERVER_LIMITS: DnsServerLimits = { connectionsMax: 256, connectionsPerSourceMax: 64, idleMs: 10_000, keptResponsesMax: 20_000 };

/** How to start a server. */
export interface DnsServerOptions {
  readonly host: string;
  /** The same for UDP and TCP; 0 lets the kernel choose. */
  readonly port: number;
  readonly registry: Registry;
  readonly limits?: Partial<DnsServerLimits>;
}

/** A running authoritative server for one zone. */
export interface DnsServer {
  readonly port: number;
  /** Answers from this zone from now on. Until the first call every question gets SERVFAIL. */
  setZone(zone: DnsZone): void;
  close(): Promise<void>;
}

/** Starts an authoritative DNS server over UDP and TCP. Throws FleetError DNS_LISTEN_FAILED. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const limits = { ...DNS_SERVER_LIMITS, ...options.limits };
  const responder = new DnsResponder(limits.keptResponsesMax);
  const tally = new Tally();
  const respond = (transport: 'udp' | 'tcp') => (message: Buffer) => {
    const { outcome, bytes } = responder.respond(message, transport);
    tally.count(transport, outcome);
    return bytes;
  };
  const { udp, tcp } = await listenBoth(options, limits, respond);
  registerMetrics(options.registry, tally, responder, tcp);
  return {
    port: udp.port,
    setZone: (zone) => responder.setZone(zone),
    close: async () => {
      await Promise.all([udp.close(), tcp.close()]);
    },
  };
}

/** Attempts to find one port that is free for UDP and TCP alike, where the kernel chooses. */
const PORT_ATTEMPTS = 5;

type Respond = (transport: 'udp' | 'tcp') => (message: Buffer) => Buffer | undefined;

async function listenBoth({ host, port }: DnsServerOptions, limits: TcpLimits, respond: Respond): Promise<{ readonly udp: UdpListener; readonly tcp: TcpListener }> {
  for (let attempt = 1; ; attempt += 1) {
    let tcp: TcpListener | undefined;
    try {
      tcp = await listenTcp(host, port, limits, respond('tcp'));
      return { tcp, udp: await listenUdp(host, tcp.port, respond('udp')) };
    } catch (error) {
      await tcp?.close();
      if (port !== 0 || attempt === PORT_ATTEMPTS) {
        throw new FleetError('DNS_LISTEN_FAILED', 'user', `cannot serve DNS on ${host} port ${port}: ${error instanceof Error ? error.message : String(error)}; free the port, or choose another`, { cause: error });
      }
    }
  }
}

/** Plain numbers on the hot path; the metrics library reads them at scrape time. */
class Tally {
  readonly counts = { udp: zeros(), tcp: zeros() };

  count(transport: 'udp' | 'tcp', outcome: DnsOutcome): void {
    this.counts[transport][outcome] += 1;
  }
}

const zeros = (): Record<DnsOutcome, number> => Object.fromEntries(DNS_OUTCOMES.map((outcome) => [outcome, 0])) as Record<DnsOutcome, number>;

function registerMetrics(registry: Registry, tally: Tally, responder: DnsResponder, tcp: TcpListener): void {
  const messages: Counter<'transport' | 'outcome'> = new Counter({
    name: 'spillway_dns_messages_total',
    help: 'DNS messages by transport and by what they got.',
    labelNames: ['transport', 'outcome'],
    registers: [registry],
    collect: () => {
      messages.reset();
      for (const transport of ['udp', 'tcp'] as const) {
        for (const outcome of DNS_OUTCOMES) messages.inc({ transport, outcome }, tally.counts[transport][outcome]);
      }
    },
  });
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
  };
  gauge('spillway_dns_kept_responses', 'UDP responses kept ready.', () => responder.keptCount);
  gauge('spillway_dns_tcp_connections', 'Open DNS connections over TCP.', () => tcp.connectionCount());
  const ended: Counter<'reason'> = new Counter({
    name: 'spillway_dns_tcp_ended_connections_total',
    help: 'DNS connections that the server closed: their source had too many, they gave way to a newer one, or they asked nothing.',
    labelNames: ['reason'],
    registers: [registry],
    collect: () => {
      ended.reset();
      for (const reason of TCP_ENDINGS) ended.inc({ reason }, tcp.endings[reason]);
    },
  });
}
