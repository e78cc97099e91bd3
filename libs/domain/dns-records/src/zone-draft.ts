import { isIp } from '#domain/addresses';
import type { FrontendListener } from '#domain/routing-plan';

import { asciiLowerCase, isSayable, isWithin, parentOf } from './dns-names.js';
import type { DnsRecord, DnsZone, SoaRecord } from './dns-zone.js';

/** How long any answer may be kept: addresses move within seconds of an object's deletion. */
const TTL_SECONDS = 5;

/** What a zone is besides its content. */
export interface DnsZoneOptions {
  readonly origin: string;
  /** Name of the name server; outside the zone, since every name in it could be somebody's. */
  readonly nameServer: string;
  /** Grows with each new content. */
  readonly serial: number;
}

/** A zone that is being put together. Names that DNS cannot carry, or that are not below the origin, are left out. */
export class ZoneDraft {
  readonly #soa: SoaRecord;
  readonly #origin: string;
  readonly #names: Map<string, DnsRecord[]>;
  readonly #unknown = new Set<string>();
  readonly #contents = new Set<string>();

  constructor(options: DnsZoneOptions) {
    this.#origin = options.origin;
    this.#soa = soaRecord(options);
    this.#names = new Map([[options.origin, [this.#soa, { name: options.origin, ttlSeconds: TTL_SECONDS, type: 'NS', target: options.nameServer }]]]);
  }

  /** Whether the zone can have the name. */
  canHave(name: string): boolean {
    return name !== this.#origin && isWithin(name, this.#origin) && isSayable(name);
  }

  /** Makes the name exist. */
  addName(name: string): DnsRecord[] {
    const records = this.#names.get(name) ?? [];
    this.#names.set(name, records);
    return records;
  }

  /** Adds an address to a name. What is no address has no record. */
  addAddress(name: string, address: string): void {
    if (isIp(address)) this.#add({ name, ttlSeconds: TTL_SECONDS, type: address.includes(':') ? 'AAAA' : 'A', address }, address);
  }

  /** Adds a port of the target to a name, unless it has the same port of the same target (R25). */
  addPort(name: string, port: number, target: string): void {
    if (isPort(port)) this.#add({ name, ttlSeconds: TTL_SECONDS, type: 'SRV', port, target }, `${port} ${target}`);
  }

  addText(name: string, text: string): void {
    this.#add({ name, ttlSeconds: TTL_SECONDS, type: 'TXT', text }, text);
  }

  /** Says that nothing is known of the name, nor of what is below it. */
  addUnknown(name: string): void {
    if (this.canHave(name)) this.#unknown.add(name);
  }

  #add(record: DnsRecord, content: string): void {
    const key = `${record.name} ${record.type} ${content}`;
    if (this.#contents.has(key) || !this.canHave(record.name)) return;
    this.#contents.add(key);
    this.addName(record.name).push(record);
  }

  finish(): DnsZone {
    // RFC 8020: a name that has names below it exists; it must not be answered with NXDOMAIN.
    for (const name of [...this.#names.keys(), ...this.#unknown]) {
      for (let parent = parentOf(name); parent !== this.#origin && isWithin(parent, this.#origin) && !this.#names.has(parent); parent = parentOf(parent)) this.#names.set(parent, []);
    }
    return { origin: this.#origin, soa: this.#soa, names: this.#names, unknown: this.#unknown };
  }
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/** `_port._protocol.name`; undefined for a port without a name, and for one that is more than one label (RFC 2782). */
export function serviceName(listener: Pick<FrontendListener, 'name' | 'protocol'>, name: string): string | undefined {
  if (listener.name === '' || listener.name.includes('.')) return undefined;
  return `_${asciiLowerCase(listener.name)}._${asciiLowerCase(listener.protocol)}.${name}`;
}

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
