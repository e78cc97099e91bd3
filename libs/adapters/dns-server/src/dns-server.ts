import { Counter, Gauge, type Registry } from 'prom-client';

import type { DnsZone } from '#domain/dns-records';
import { FleetError } from '#domain/fleet';
import type { Random } from '#ports';

import { DNS_OUTCOMES, DnsResponder, type DnsOutcome } from './dns-responder.js';
import { TCP_ENDINGS, type TcpLimits } from './tcp-door.js';
import { listenTcp, type TcpListener } from './tcp-listener.js';
import { listenUdp, type UdpListener } from './udp-listener.js';

/** Defaults of {@link TcpLimits}. */
const TCP_LIMITS: TcpLimits = { connectionsMax: 256, connectionsPerSourceMax: 64, idleMs: 10_000 };

/** How to start a server. */
export interface DnsServerOptions {
  readonly host: string;
  /** The same for UDP and TCP; 0 lets the kernel choose. */
  readonly port: number;
  readonly registry: Registry;
  /** Orders the addresses of a name. */
  readonly random: Random;
  /** Bounds of TCP; each has a default. */
  readonly limits?: Partial<TcpLimits>;
}

/** A running authoritative server. */
export interface DnsServer {
  readonly port: number;
  /** Answers from these zones from now on. Until the first call every question gets SERVFAIL. */
  setZones(zones: readonly DnsZone[]): void;
  /** Says whether the zones are all that there is; where they may be out of date (so at first), no name is denied. */
  setCurrent(isCurrent: boolean): void;
  close(): Promise<void>;
}

/** Starts an authoritative DNS server over UDP and TCP. Throws FleetError DNS_LISTEN_FAILED. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const limits = { ...TCP_LIMITS, ...options.limits };
  const responder = new DnsResponder(options.random);
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
    setZones: (zones) => responder.setZones(zones),
    setCurrent: (isCurrent) => responder.setCurrent(isCurrent),
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
  gauge('spillway_dns_encoded_answers', 'Answers kept encoded.', () => responder.encodedCount);
  gauge('spillway_dns_current', '1 while the zones are all that the controller says; 0 while they may be out of date.', () => (responder.isCurrent ? 1 : 0));
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
