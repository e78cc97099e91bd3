import { asciiLowerCase, isWithin, parentOf } from './dns-names.js';
import type { DnsRecord, DnsZone, SoaRecord } from './dns-zone.js';

/** What a client asks: class IN is understood. */
export interface DnsQuestion {
  /** In any case, with or without trailing dot. */
  readonly name: string;
  /** A type's mnemonic, such as `AAAA`; of an unknown type anything else. */
  readonly type: string;
}

/** What the zones say to a question. */
export type DnsAnswer =
  | { readonly kind: 'answer'; readonly answers: readonly DnsRecord[]; readonly additionals: readonly DnsRecord[] }
  /** The name exists, without records of that type. */
  | { readonly kind: 'no-data'; readonly soa: SoaRecord }
  /** The name does not exist, and nothing below it. */
  | { readonly kind: 'no-such-name'; readonly soa: SoaRecord }
  /** Whether the name exists is not known. */
  | { readonly kind: 'unknown' }
  /** Not a question for these zones. */
  | { readonly kind: 'refused' };

const ZONE_TRANSFERS: readonly string[] = ['AXFR', 'IXFR'];

/** The zone that a name belongs to; the name is lower case, without trailing dot. */
export const zoneOf = <Z extends Pick<DnsZone, 'origin'>>(zones: readonly Z[], name: string): Z | undefined => zones.find(({ origin }) => isWithin(name, origin));

/**
 * Answers a question from the zones. Names are compared without regard to ASCII case. Zones that may be out of date
 * (`isCurrent` is false) still say what they have, but deny no name: it may have come meanwhile (RFC 8767).
 */
export function answerQuestion(zones: readonly DnsZone[], question: DnsQuestion, isCurrent: boolean): DnsAnswer {
  const name = asciiLowerCase(question.name.endsWith('.') ? question.name.slice(0, -1) : question.name);
  const zone = zoneOf(zones, name);
  if (zone === undefined || ZONE_TRANSFERS.includes(question.type)) return { kind: 'refused' };
  const records = zone.names.get(name);
  if (records === undefined) return isCurrent && !isUnknown(zone, name) ? { kind: 'no-such-name', soa: zone.soa } : { kind: 'unknown' };
  const answers = question.type === 'ANY' ? records : records.filter((record) => record.type === question.type);
  if (answers.length === 0) return { kind: 'no-data', soa: zone.soa };
  return { kind: 'answer', answers, additionals: addressesOfTargets(zone, answers) };
}

function isUnknown(zone: DnsZone, name: string): boolean {
  if (zone.unknown.size === 0) return false;
  for (let one = name; isWithin(one, zone.origin); one = parentOf(one)) {
    if (zone.unknown.has(one)) return true;
  }
  return false;
}

// RFC 2782: the addresses of a target save the client a second question.
function addressesOfTargets(zone: DnsZone, answers: readonly DnsRecord[]): readonly DnsRecord[] {
  const targets = new Set(answers.flatMap((record) => (record.type === 'SRV' ? [record.target] : [])));
  return [...targets].flatMap((target) => (zone.names.get(target) ?? []).filter(({ type }) => type === 'A' || type === 'AAAA'));
}
