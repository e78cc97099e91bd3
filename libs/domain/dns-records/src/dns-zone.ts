/** A name server's whole knowledge of one zone. Names are lower case, without trailing dot. */
export interface DnsZone {
  readonly origin: string;
  readonly soa: SoaRecord;
  /** Every name that exists, with its records; names that only have names below them have none (RFC 8020). */
  readonly names: ReadonlyMap<string, readonly DnsRecord[]>;
  /** Names of which it is not known what they have, nor which names are below them. */
  readonly unknown: ReadonlySet<string>;
}

interface RecordBase {
  /** Owner name, lower case, without trailing dot. */
  readonly name: string;
  readonly ttlSeconds: number;
}

/** An IPv4 or IPv6 address of a name. */
export interface AddressRecord extends RecordBase {
  readonly type: 'A' | 'AAAA';
  readonly address: string;
}

/** A port that a name offers (RFC 2782). */
export interface SrvRecord extends RecordBase {
  readonly type: 'SRV';
  readonly port: number;
  readonly target: string;
}

/** The zone's name server. */
export interface NsRecord extends RecordBase {
  readonly type: 'NS';
  readonly target: string;
}

/** Text: the version of the DNS specification that a zone follows. */
export interface TxtRecord extends RecordBase {
  readonly type: 'TXT';
  /** ASCII, at most 255 characters. */
  readonly text: string;
}

/** The zone's authority; its `minimum` is how long a negative answer may be kept (RFC 2308). */
export interface SoaRecord extends RecordBase {
  readonly type: 'SOA';
  readonly nameServer: string;
  readonly mailbox: string;
  readonly serial: number;
  readonly refreshSeconds: number;
  readonly retrySeconds: number;
  readonly expireSeconds: number;
  readonly minimumSeconds: number;
}

/** A record of a zone. */
export type DnsRecord = AddressRecord | SrvRecord | NsRecord | TxtRecord | SoaRecord;
