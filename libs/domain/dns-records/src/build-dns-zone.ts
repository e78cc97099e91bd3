import { isIp } from '#domain/addresses';
import type { Frontend, FrontendListener } from '#domain/routing-plan';

import type { DnsRecord, DnsZone, SoaRecord } from './dns-zone.js';

/** The zone of Gateway addresses under a cluster's DNS domain. */
export const gatewayZone = (clusterDomain: string): string => `gw.${asciiLowerCase(clusterDomain)}`;

/** How long any answer may be kept: addresses move within seconds of a Gateway's deletion. */
const TTL_SECONDS = 5;

/** What a zone is besides its frontends. */
export interface DnsZoneOptions {
  readonly origin: string;
  /** Name of the name server; outside the zone, since every name in it could be a Gateway's. */
  readonly nameServer: string;
  /** Grows with each new content. */
  readonly serial: number;
}

/**
 * The zone in which each frontend's names lead to its addresses, and each of its named listeners has an SRV record
 * `_listener._protocol` below each name. A frontend without addresses exists, and has no data. Names outside the origin,
 * and names, addresses and ports that DNS cannot carry, are left out.
 */
export function buildDnsZone(frontends: readonly Frontend[], options: DnsZoneOptions): DnsZone {
  const soa = soaRecord(options);
  const names = new Map<string, DnsRecord[]>([[options.origin, [soa, { name: options.origin, ttlSeconds: TTL_SECONDS, type: 'NS', target: options.nameServer }]]]);
  for (const frontend of frontends) {
    for (const name of frontend.dnsNames.map(asciiLowerCase).filter((one) => one.endsWith(`.${options.origin}`) && isSayable(one))) addFrontend(names, name, frontend);
  }
  addEmptyNonTerminals(names, options.origin);
  return { origin: options.origin, soa, names };
}

/** Lower case of ASCII letters only, as DNS compares names (RFC 4343). */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function addFrontend(names: Map<string, DnsRecord[]>, name: string, frontend: Frontend): void {
  const addresses = frontend.addresses.filter(isIp).map((address): DnsRecord => ({ name, ttlSeconds: TTL_SECONDS, type: address.includes(':') ? 'AAAA' : 'A', address }));
  names.set(name, [...(names.get(name) ?? []), ...addresses]);
  for (const listener of frontend.listeners) {
    const service = serviceName(listener, name);
    // RFC 2782: a service is one label.
    if (listener.name.includes('.') || !isSayable(service) || !isPort(listener.port)) continue;
    names.set(service, [...(names.get(service) ?? []), { name: service, ttlSeconds: TTL_SECONDS, type: 'SRV', port: listener.port, target: name }]);
  }
}

// RFC 1035: Kubernetes names may be longer than what DNS can carry.
const isSayable = (name: string): boolean => name.length <= 253 && name.split('.').every((label) => label.length >= 1 && label.length <= 63);

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

const serviceName = (listener: FrontendListener, name: string): string => `_${asciiLowerCase(listener.name)}._${asciiLowerCase(listener.protocol)}.${name}`;

// RFC 8020: a name that has names below it exists; it must not be answered with NXDOMAIN.
function addEmptyNonTerminals(names: Map<string, DnsRecord[]>, origin: string): void {
  for (const name of [...names.keys()]) {
    for (let parent = parentOf(name); parent.endsWith(`.${origin}`) && !names.has(parent); parent = parentOf(parent)) names.set(parent, []);
  }
}

const parentOf = (name: string): string => name.slice(name.indexOf('.') + 1);

const soaRecord = ({ origin, nameServer, serial }: DnsZoneOptions): SoaRecord => ({
  name: origin,
  ttlSeconds: TTL_SECONDS,
  type: 'SOA',
  nameServer,
  mailbox: `hostmaster.${origin}`,
  serial,
  refreshSeconds: 7_200,
  retrySeconds: 1_800,
  expireSeconds: 86_400,
  minimumSeconds: TTL_SECONDS,
});
