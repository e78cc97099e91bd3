import { asciiLowerCase } from './build-dns-zone.js';
import type { DnsRecord, DnsZone, SoaRecord } from './dns-zone.js';

/** What a client asks: class IN is understood. */
export interface DnsQuestion {
  /** In any case, with or without trailing dot. */
  readonly name: string;
  /** A type's mnemonic, such as `AAAA`; of an unknown type anything else. */
  readonly type: string;
}

/** What the zone says to a question. */
export type DnsAnswer =
  | { readonly kind: 'answer'; readonly answers: readonly DnsRecord[]; readonly additionals: readonly DnsRecord[] }
  /** The name exists, without records of that type. */
  | { readonly kind: 'no-data'; readonly soa: SoaRecord }
  /** The name does not exist, and nothing below it. */
  | { readonly kind: 'no-such-name'; readonly soa: SoaRecord }
  /** Not a question for this zone. */
  | { readonly kind: 'refused' };

const ZONE_TRANSFERS: readonly string[] = ['AXFR', 'IXFR'];

/** Answers a question from a zone. Names are compared without regard to ASCII case. */
export function answerQuestion(zone: DnsZone, question: DnsQuestion): DnsAnswer {
  const name = asciiLowerCase(question.name.endsWith('.') ? question.name.slice(0, -1) : question.name);
  if (name !== zone.origin && !name.endsWith(`.${zone.origin}`)) return { kind: 'refused' };
  if (ZONE_TRANSFERS.includes(question.type)) return { kind: 'refused' };
  const records = zone.names.get(name);
  if (records === undefined) return { kind: 'no-such-name', soa: zone.soa };
  const answers = question.type === 'ANY' ? records : records.filter((record) => record.type === question.type);
  if (answers.length === 0) return { kind: 'no-data', soa: zone.soa };
  return { kind: 'answer', answers, additionals: answers.flatMap((record) => addressesOfTarget(zone, record)) };
}

// RFC 2782: the addresses of a target save the client a second question.
const addressesOfTarget = (zone: DnsZone, record: DnsRecord): readonly DnsRecord[] =>
  record.type === 'SRV' ? (zone.names.get(record.target) ?? []).filter((one) => one.type === 'A' || one.type === 'AAAA') : [];
