import type { Random } from '#ports';

import { EXTENDED_ERROR, FLAG, HEADER_BYTES, RCODE, TYPE_NUMBERS, type ExtendedError, type Rcode } from './dns-codes.js';
import type { Query } from './parse-query.js';
import type { WireAnswer, WireAuthority } from './wire-answer.js';
import { wireLength } from './wire-writer.js';

/** Largest UDP response: fits IPv6's smallest MTU, so it never travels in fragments (DNS flag day 2020). */
const UDP_PAYLOAD_BYTES_MAX = 1_232;

const UDP_PAYLOAD_BYTES_PLAIN = 512;
const TCP_PAYLOAD_BYTES = 65_535;
const OPT_BYTES = 11;
const EXTENDED_ERROR_BYTES = 6;
const EXTENDED_ERROR_OPTION = 15;
const DNSSEC_OK = 0x80;

/** What a response says. */
export interface ResponseContent {
  readonly rcode: Rcode;
  readonly answer: WireAnswer | undefined;
  readonly authority: WireAuthority | undefined;
  /** Told only to who speaks EDNS. */
  readonly extendedError: ExtendedError | undefined;
}

/** A response that has no records. */
export const bareContent = (rcode: Rcode, extendedError?: ExtendedError): ResponseContent => ({ rcode, answer: undefined, authority: undefined, extendedError });

/** The extended error of what may be out of date. */
export const staleness = (isCurrent: boolean): ExtendedError | undefined => (isCurrent ? undefined : EXTENDED_ERROR.staleAnswer);

/** How much a client can take in one response. */
export const payloadBytesMax = (query: Query, transport: 'udp' | 'tcp'): number => {
  if (transport === 'tcp') return TCP_PAYLOAD_BYTES;
  return Math.min(UDP_PAYLOAD_BYTES_MAX, Math.max(UDP_PAYLOAD_BYTES_PLAIN, query.edns?.payloadBytes ?? 0));
};

/** A response to a message that is no readable query: the header alone. */
export function composeError(request: Buffer, rcode: Rcode): Buffer {
  const response = Buffer.alloc(HEADER_BYTES);
  request.copy(response, 0, 0, 2);
  response[2] = FLAG.response | ((request[2] ?? 0) & (FLAG.opcodeMask | FLAG.recursionDesired));
  response[3] = rcode;
  return response;
}

/**
 * A response to a query. What of the answer is too long for the client is left out, and the response says so (TC): the
 * client asks again over TCP. Additional records that do not fit are not missed (RFC 2181 §9). Addresses come in random order.
 */
export function composeResponse(request: Buffer, query: Query, content: ResponseContent, limits: { readonly bytesMax: number; readonly random: Random }): Buffer {
  const { answer, authority, rcode } = content;
  const start = query.questionEnd;
  const optBytes = optLength(query, content);
  const response = Buffer.allocUnsafe(start + (answer ?? authority ?? NO_RECORDS).bytes.length + optBytes);
  request.copy(response, 0, 0, start);
  const records = putRecords(response, query, content, { bytesMax: limits.bytesMax - start - optBytes, random: limits.random });
  response[2] = FLAG.response | (isAuthoritative(rcode) ? FLAG.authoritative : 0) | (records.isTruncated ? FLAG.truncated : 0) | ((response[2] ?? 0) & FLAG.recursionDesired);
  response[3] = rcode & 0x0f;
  writeCounts(response, records, optBytes > 0);
  if (optBytes > 0) writeOpt(response, start + records.bytes, query, content);
  const end = start + records.bytes + optBytes;
  return end === response.length ? response : response.subarray(0, end);
}

const isAuthoritative = (rcode: Rcode): boolean => rcode === RCODE.noError || rcode === RCODE.nameError;

/** Records that were put into a response. */
interface PutRecords {
  readonly answerCount: number;
  readonly authorityCount: number;
  readonly additionalCount: number;
  readonly bytes: number;
  readonly isTruncated: boolean;
}

const NO_RECORDS = { bytes: Buffer.alloc(0) };
const NOTHING_PUT: PutRecords = { answerCount: 0, authorityCount: 0, additionalCount: 0, bytes: 0, isTruncated: false };

function putRecords(response: Buffer, query: Query, { answer, authority }: ResponseContent, limits: { readonly bytesMax: number; readonly random: Random }): PutRecords {
  if (answer !== undefined) return putAnswer(response, query.questionEnd, answer, limits);
  if (authority === undefined) return NOTHING_PUT;
  authority.bytes.copy(response, query.questionEnd);
  movePointers(response, query, authority);
  return { ...NOTHING_PUT, authorityCount: 1, bytes: authority.bytes.length };
}

function putAnswer(response: Buffer, start: number, answer: WireAnswer, { bytesMax, random }: { readonly bytesMax: number; readonly random: Random }): PutRecords {
  const { bytes, ends, answerCount, shuffledBytes } = answer;
  bytes.copy(response, start);
  const fitting = bytes.length <= bytesMax ? ends.length : ends.filter((end) => end <= bytesMax).length;
  const count = Math.min(fitting, answerCount);
  if (shuffledBytes > 0) shuffle(response, start, { size: shuffledBytes, among: Math.min(answerCount, ends.length), count }, random);
  return { answerCount: count, authorityCount: 0, additionalCount: fitting - count, bytes: ends[fitting - 1] ?? 0, isTruncated: count < answerCount };
}

/** Fisher and Yates: the first `count` records are any of all, and every order is as likely as every other. */
function shuffle(response: Buffer, start: number, { size, among, count }: { readonly size: number; readonly among: number; readonly count: number }, random: Random): void {
  for (let index = 0; index < count && index < among - 1; index += 1) {
    const other = index + Math.floor(random.next() * (among - index));
    if (other !== index) swap(response, start + index * size, start + other * size, size);
  }
}

function swap(bytes: Buffer, a: number, b: number, size: number): void {
  for (let at = 0; at < size; at += 1) {
    const kept = bytes[a + at] ?? 0;
    bytes[a + at] = bytes[b + at] ?? 0;
    bytes[b + at] = kept;
  }
}

function movePointers(response: Buffer, { name, questionEnd }: Query, { pointersAt, origin }: WireAuthority): void {
  const distance = wireLength(name) - wireLength(origin);
  if (distance === 0) return;
  for (const at of pointersAt) response.writeUInt16BE(response.readUInt16BE(questionEnd + at) + distance, questionEnd + at);
}

function writeCounts(response: Buffer, { answerCount, authorityCount, additionalCount }: PutRecords, hasOpt: boolean): void {
  const additionals = additionalCount + (hasOpt ? 1 : 0);
  response[4] = 0;
  response[5] = 1;
  response[6] = answerCount >> 8;
  response[7] = answerCount & 0xff;
  response[8] = 0;
  response[9] = authorityCount;
  response[10] = additionals >> 8;
  response[11] = additionals & 0xff;
}

const optLength = ({ edns }: Query, { extendedError }: ResponseContent): number => {
  if (edns === undefined) return 0;
  return OPT_BYTES + (extendedError === undefined ? 0 : EXTENDED_ERROR_BYTES);
};

function writeOpt(response: Buffer, start: number, { edns }: Query, { rcode, extendedError }: ResponseContent): void {
  const flags = edns?.isDnssecOk === true ? DNSSEC_OK : 0;
  const dataBytes = extendedError === undefined ? 0 : EXTENDED_ERROR_BYTES;
  let at = start;
  for (const byte of [0, 0, TYPE_NUMBERS.OPT, UDP_PAYLOAD_BYTES_MAX >> 8, UDP_PAYLOAD_BYTES_MAX & 0xff, rcode >> 4, 0, flags, 0, 0, dataBytes]) response[at++] = byte;
  if (extendedError !== undefined) for (const byte of [0, EXTENDED_ERROR_OPTION, 0, 2, 0, extendedError]) response[at++] = byte;
}
