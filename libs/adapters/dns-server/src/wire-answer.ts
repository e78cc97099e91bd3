import type { DnsRecord } from '#domain/dns-records';

import { WireWriter } from './wire-writer.js';

/** The records of one answer as bytes, to be put behind the question that they were made for. */
export interface WireAnswer {
  readonly bytes: Buffer;
  readonly answerCount: number;
  /** Where each record ends: first the answers, then the additional ones. */
  readonly ends: readonly number[];
  /** Length of each answer where they are alike and their order says nothing; 0 where they stay as they are. */
  readonly shuffledBytes: number;
}

/** More records than this would fit into no message. */
const BYTES_MAX = 65_535;

/** Encodes an answer to a question for this name; as much of it as a message can have. */
export function encodeAnswer(name: string, answers: readonly DnsRecord[], additionals: readonly DnsRecord[]): WireAnswer {
  const writer = new WireWriter(name);
  const ends: number[] = [];
  for (const record of [...answers, ...additionals]) {
    writer.record(record);
    ends.push(writer.length);
    if (writer.length > BYTES_MAX) break;
  }
  return { bytes: writer.take(), answerCount: answers.length, ends, shuffledBytes: answers.length > 1 && areAddresses(answers) ? (ends[0] ?? 0) : 0 };
}

const areAddresses = ([first, ...others]: readonly DnsRecord[]): boolean => (first?.type === 'A' || first?.type === 'AAAA') && others.every(({ type }) => type === first.type);

/** The authority section of a zone's negative answers, for any question in the zone. */
export interface WireAuthority {
  /** As it follows a question for the zone's own name. */
  readonly bytes: Buffer;
  /** Pointers in it, which move with the length of the question's name. */
  readonly pointersAt: readonly number[];
  readonly origin: string;
}

/** Encodes a zone's SOA record for negative answers. */
export function encodeAuthority(soa: DnsRecord): WireAuthority {
  const writer = new WireWriter(soa.name);
  writer.record(soa);
  return { bytes: writer.take(), pointersAt: [...writer.pointersAt], origin: soa.name };
}
