import { CLASS_NUMBERS, FLAG, HEADER_BYTES, RCODE, TYPE_NUMBERS, type Rcode } from './dns-codes.js';

/** A well-formed query for one name. */
export interface Query {
  readonly kind: 'query';
  /** Where the question section ends: responses repeat it byte for byte, letter case included. */
  readonly questionEnd: number;
  /** Lower case, without trailing dot; empty for the root. */
  readonly name: string;
  readonly type: number;
  readonly isInternet: boolean;
  readonly edns: Edns | undefined;
}

/** What a client says of itself by EDNS (RFC 6891). */
export interface Edns {
  /** What it can take over UDP. */
  readonly payloadBytes: number;
  readonly version: number;
  /** Its DO bit, which responses repeat (RFC 3225). */
  readonly isDnssecOk: boolean;
}

/** What a message turned out to be. `drop` is no query at all: answering it could make two servers talk for ever. */
export type ParsedMessage = Query | { readonly kind: 'drop' } | { readonly kind: 'error'; readonly rcode: Rcode };

const DROP: ParsedMessage = { kind: 'drop' };
const FORMAT_ERROR: ParsedMessage = { kind: 'error', rcode: RCODE.formatError };
const NOT_IMPLEMENTED: ParsedMessage = { kind: 'error', rcode: RCODE.notImplemented };

const TYPE_AND_CLASS_BYTES = 4;
/** Of a record behind its name: type, class, TTL and data length. */
const RECORD_HEADER_BYTES = 10;
/** OPT, and room for a signature that we do not read. */
const ADDITIONALS_MAX = 2;
/** RFC 1035: a name's labels with their lengths, and the end. */
const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;
const POINTER_MASK = 0xc0;
const DOT = 0x2e;
const [UPPER_A, UPPER_Z, CASE_BIT] = [0x41, 0x5a, 0x20];

/** Parses a message that a client sent. Never throws, whatever the bytes are. */
export function parseQuery(message: Buffer): ParsedMessage {
  if (message.length < HEADER_BYTES || (byteAt(message, 2) & FLAG.response) !== 0) return DROP;
  if ((byteAt(message, 2) & FLAG.opcodeMask) !== 0) return NOT_IMPLEMENTED;
  if (!hasQueryCounts(message)) return FORMAT_ERROR;
  const nameEnd = readName(message);
  const questionEnd = nameEnd + TYPE_AND_CLASS_BYTES;
  if (nameEnd === NONE || questionEnd > message.length) return FORMAT_ERROR;
  const edns = readEdns(message, questionEnd);
  if (edns === 'malformed') return FORMAT_ERROR;
  const dnsClass = wordAt(message, nameEnd + 2);
  return {
    kind: 'query',
    questionEnd,
    // The first length and the end are no part of the text.
    name: nameText.toString('latin1', 1, Math.max(1, nameEnd - HEADER_BYTES - 1)),
    type: wordAt(message, nameEnd),
    isInternet: dnsClass === CLASS_NUMBERS.internet || dnsClass === CLASS_NUMBERS.any,
    edns,
  };
}

const byteAt = (bytes: Buffer, at: number): number => bytes[at] ?? 0;
const wordAt = (bytes: Buffer, at: number): number => (byteAt(bytes, at) << 8) | byteAt(bytes, at + 1);

const hasQueryCounts = (message: Buffer): boolean => wordAt(message, 4) === 1 && wordAt(message, 6) === 0 && wordAt(message, 8) === 0 && wordAt(message, 10) <= ADDITIONALS_MAX;

const NONE = -1;

/** The name that was read last, lower case, with a dot in place of each length. */
const nameText = Buffer.alloc(NAME_BYTES_MAX);

/**
 * Reads the question's name into {@link nameText} and returns where it ends; NONE where it runs out of the message, is too
 * long, is compressed, or has a dot inside a label, which would read like two labels and so like another name.
 */
function readName(message: Buffer): number {
  const end = Math.min(message.length, HEADER_BYTES + NAME_BYTES_MAX);
  for (let at = HEADER_BYTES; at < end; ) {
    const length = byteAt(message, at);
    if (length === 0) return at + 1;
    const next = at + 1 + length;
    if (length > LABEL_BYTES_MAX || next >= end) return NONE;
    nameText[at - HEADER_BYTES] = DOT;
    for (at += 1; at < next; at += 1) {
      const byte = byteAt(message, at);
      if (byte === DOT) return NONE;
      nameText[at - HEADER_BYTES] = byte >= UPPER_A && byte <= UPPER_Z ? byte | CASE_BIT : byte;
    }
  }
  return NONE;
}

function readEdns(message: Buffer, start: number): Edns | undefined | 'malformed' {
  let edns: Edns | undefined;
  let at = start;
  for (let left = wordAt(message, 10); left > 0; left -= 1) {
    const nameEnd = skipName(message, at);
    const dataAt = nameEnd + RECORD_HEADER_BYTES;
    if (nameEnd === NONE || dataAt > message.length) return 'malformed';
    const next = dataAt + wordAt(message, nameEnd + 8);
    if (next > message.length) return 'malformed';
    if (wordAt(message, nameEnd) === TYPE_NUMBERS.OPT) {
      // RFC 6891 §6.1: it belongs to the root, and there is one at most.
      if (edns !== undefined || nameEnd !== at + 1 || !hasWholeOptions(message, dataAt, next)) return 'malformed';
      edns = { payloadBytes: wordAt(message, nameEnd + 2), version: byteAt(message, nameEnd + 5), isDnssecOk: (byteAt(message, nameEnd + 6) & 0x80) !== 0 };
    }
    at = next;
  }
  return edns;
}

function skipName(message: Buffer, start: number): number {
  for (let at = start; at < message.length; ) {
    const length = byteAt(message, at);
    if (length === 0) return at + 1;
    if ((length & POINTER_MASK) === POINTER_MASK) return at + 2;
    if (length > LABEL_BYTES_MAX) return NONE;
    at += 1 + length;
  }
  return NONE;
}

function hasWholeOptions(message: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at + 4 <= end) at += 4 + wordAt(message, at + 2);
  return at === end;
}
