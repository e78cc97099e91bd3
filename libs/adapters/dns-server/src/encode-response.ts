import { encode, type Answer, type OptAnswer } from 'dns-packet';

import type { DnsAnswer, DnsRecord } from '#domain/dns-records';

import { RCODE, type Query, type Rcode } from './parse-query.js';

/** Largest UDP response: fits IPv6's smallest MTU, so it never travels in fragments (DNS flag day 2020). */
const UDP_PAYLOAD_BYTES_MAX = 1_232;

const UDP_PAYLOAD_BYTES_PLAIN = 512;
const TCP_PAYLOAD_BYTES = 65_535;
const HEADER_BYTES = 12;
/** A record whose name is a pointer: the shortest that there is, an address, has 16 bytes. */
const RECORD_BYTES_MIN = 16;
const QUESTION_COUNT_AT = 4;
const FLAG = { response: 0x80, authoritative: 0x04, truncated: 0x02, recursionDesired: 0x01 } as const;
const OPCODE_MASK = 0x78;

/** What goes into a response besides its question. */
interface Sections {
  readonly rcode: Rcode;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** How much a client can take in one response. */
export const payloadBytesMax = (query: Query, transport: 'udp' | 'tcp'): number => {
  if (transport === 'tcp') return TCP_PAYLOAD_BYTES;
  return Math.min(UDP_PAYLOAD_BYTES_MAX, Math.max(UDP_PAYLOAD_BYTES_PLAIN, query.ednsPayloadBytes ?? 0));
};

/** A response to a query. Too long for the client, it says so (TC) and carries nothing: the client asks again over TCP. */
export function encodeResponse(request: Buffer, query: Query, outcome: DnsAnswer | Rcode, bytesMax: number): Buffer {
  const sections = typeof outcome === 'number' ? empty(outcome) : sectionsOf(outcome);
  const truncated = (): Buffer => assemble(request, query, empty(sections.rcode), true);
  // What cannot fit is not even encoded: a datagram must not cost more than its answer.
  if (sections.answers.length * RECORD_BYTES_MIN > bytesMax) return truncated();
  const whole = assemble(request, query, sections, false);
  return whole.length <= bytesMax ? whole : truncated();
}

/** A response to a message that is no readable query: the header alone. */
export function encodeError(request: Buffer, rcode: Rcode): Buffer {
  const response = Buffer.alloc(HEADER_BYTES);
  request.copy(response, 0, 0, 2);
  response.writeUInt8(FLAG.response | (request.readUInt8(2) & (OPCODE_MASK | FLAG.recursionDesired)), 2);
  response.writeUInt8(rcode, 3);
  return response;
}

const empty = (rcode: Rcode): Sections => ({ rcode, answers: [], authorities: [], additionals: [] });

function sectionsOf(answer: DnsAnswer): Sections {
  switch (answer.kind) {
    case 'answer':
      return { rcode: RCODE.noError, answers: answer.answers, authorities: [], additionals: answer.additionals };
    case 'no-data':
      return { ...empty(RCODE.noError), authorities: [answer.soa] };
    case 'no-such-name':
      return { ...empty(RCODE.nameError), authorities: [answer.soa] };
    case 'refused':
      return empty(RCODE.refused);
  }
}

function assemble(request: Buffer, query: Query, sections: Sections, isTruncated: boolean): Buffer {
  const options = query.ednsPayloadBytes === undefined ? [] : [optRecord(sections.rcode)];
  const encoded = encode({ answers: sections.answers.map(toWire), authorities: sections.authorities.map(toWire), additionals: [...sections.additionals.map(toWire), ...options] });
  const response = Buffer.concat([encoded.subarray(0, HEADER_BYTES), query.question, encoded.subarray(HEADER_BYTES)]);
  request.copy(response, 0, 0, 2);
  const isOurs = sections.rcode === RCODE.noError || sections.rcode === RCODE.nameError;
  response.writeUInt8(FLAG.response | (isOurs ? FLAG.authoritative : 0) | (isTruncated ? FLAG.truncated : 0) | (request.readUInt8(2) & FLAG.recursionDesired), 2);
  response.writeUInt8(sections.rcode & 0x0f, 3);
  response.writeUInt16BE(1, QUESTION_COUNT_AT);
  return response;
}

// The type wants the fields that only the decoder fills in.
const optRecord = (rcode: Rcode): Answer => ({ type: 'OPT', name: '.', udpPayloadSize: UDP_PAYLOAD_BYTES_MAX, extendedRcode: rcode >> 4, ednsVersion: 0, flags: 0, flag_do: false, options: [] }) satisfies OptAnswer;

const SRV_WEIGHT = 100;

function toWire(record: DnsRecord): Answer {
  const { name, ttlSeconds: ttl } = record;
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return { name, ttl, type: record.type, data: record.address };
    case 'SRV':
      return { name, ttl, type: 'SRV', data: { priority: 0, weight: SRV_WEIGHT, port: record.port, target: record.target } };
    case 'NS':
      return { name, ttl, type: 'NS', data: record.target };
    case 'SOA':
      return {
        name,
        ttl,
        type: 'SOA',
        data: { mname: record.nameServer, rname: record.mailbox, serial: record.serial, refresh: record.refreshSeconds, retry: record.retrySeconds, expire: record.expireSeconds, minimum: record.minimumSeconds },
      };
  }
}
