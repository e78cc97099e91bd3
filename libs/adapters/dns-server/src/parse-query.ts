import { decode, type OptAnswer } from 'dns-packet';

/** Response codes of RFC 1035 and RFC 6895. */
export const RCODE = { noError: 0, formatError: 1, serverFailure: 2, nameError: 3, notImplemented: 4, refused: 5, badVersion: 16 } as const;

/** A response code. */
export type Rcode = (typeof RCODE)[keyof typeof RCODE];

/** A well-formed query for one name. */
export interface Query {
  readonly kind: 'query';
  /** The question section byte for byte: responses repeat it, letter case included. */
  readonly question: Buffer;
  readonly name: string;
  readonly type: string;
  readonly isInternet: boolean;
  /** What the client can take over UDP by EDNS; undefined without EDNS. */
  readonly ednsPayloadBytes: number | undefined;
  readonly ednsVersion: number;
}

/** What a message turned out to be. `drop` is no query at all: answering it could make two servers talk for ever. */
export type ParsedMessage = Query | { readonly kind: 'drop' } | { readonly kind: 'error'; readonly rcode: Rcode };

const HEADER_BYTES = 12;
const RESPONSE_FLAG = 0x80;
const OPCODE_MASK = 0x78;
const QUESTION_TAIL_BYTES = 4;
/** RFC 1035: a name's labels with their lengths, and the end. */
const NAME_BYTES_MAX = 255;
/** OPT, and room for a signature that we do not read. */
const ADDITIONALS_MAX = 2;
const DOT = 0x2e;

/** Parses a message that a client sent. Never throws, whatever the bytes are. */
export function parseQuery(message: Buffer): ParsedMessage {
  if (message.length < HEADER_BYTES || (message.readUInt8(2) & RESPONSE_FLAG) !== 0) return { kind: 'drop' };
  if ((message.readUInt8(2) & OPCODE_MASK) !== 0) return { kind: 'error', rcode: RCODE.notImplemented };
  const end = questionEnd(message);
  if (!hasQueryCounts(message) || end === undefined) return { kind: 'error', rcode: RCODE.formatError };
  try {
    return toQuery(message, message.subarray(HEADER_BYTES, end));
  } catch {
    return { kind: 'error', rcode: RCODE.formatError };
  }
}

// Checked before decoding: the decoder makes room for as many records as the header claims.
const hasQueryCounts = (message: Buffer): boolean => message.readUInt16BE(4) === 1 && message.readUInt16BE(6) === 0 && message.readUInt16BE(8) === 0 && message.readUInt16BE(10) <= ADDITIONALS_MAX;

/** Where the only question ends; undefined where its name runs out of the message, is too long, is compressed, or has a dot inside a label. */
function questionEnd(message: Buffer): number | undefined {
  for (let at = HEADER_BYTES; at < Math.min(message.length, HEADER_BYTES + NAME_BYTES_MAX); ) {
    const length = message.readUInt8(at);
    if (length === 0) return at + 1 + QUESTION_TAIL_BYTES <= message.length ? at + 1 + QUESTION_TAIL_BYTES : undefined;
    const next = at + 1 + length;
    // A dot inside a label would read like two labels, and so like another name.
    if (length > 63 || message.subarray(at + 1, next).includes(DOT)) return undefined;
    at = next;
  }
  return undefined;
}

function toQuery(message: Buffer, question: Buffer): ParsedMessage {
  const { questions = [], additionals = [] } = decode(message);
  const [asked] = questions;
  const options = additionals.filter((record): record is OptAnswer & DecodedOpt => record.type === 'OPT');
  // RFC 6891 §6.1.1: more than one OPT is a format error.
  if (asked === undefined || options.length > 1) return { kind: 'error', rcode: RCODE.formatError };
  return {
    kind: 'query',
    question,
    name: asked.name,
    type: asked.type,
    isInternet: asked.class === 'IN' || (asked.class as string | undefined) === 'ANY',
    ednsPayloadBytes: options[0]?.udpPayloadSize,
    ednsVersion: options[0]?.ednsVersion ?? 0,
  };
}

/** What the decoder gives of an OPT record. */
interface DecodedOpt {
  readonly udpPayloadSize: number;
  readonly ednsVersion: number;
}
