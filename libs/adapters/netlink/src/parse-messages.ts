import { NFNL, NLA } from './constants.js';

/** A netlink message as it was received. `body` holds its attributes. */
export interface Message {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** The netlink port of whom this message answers or whose change it tells of. */
  readonly port: number;
  /** Everything behind the netlink header. */
  readonly payload: Buffer;
}

/** One attribute; `type` without its flag bits. */
export interface Attribute {
  readonly type: number;
  readonly isNested: boolean;
  readonly value: Buffer;
}

const HEADER_LENGTH = 16;
const FAMILY_HEADER_LENGTH = 4;

/** The messages in a received buffer. */
export function parseMessages(buffer: Buffer): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; at + HEADER_LENGTH <= buffer.length; ) {
    const length = buffer.readUInt32LE(at);
    if (length < HEADER_LENGTH || at + length > buffer.length) break;
    messages.push({
      type: buffer.readUInt16LE(at + 4),
      flags: buffer.readUInt16LE(at + 6),
      sequence: buffer.readUInt32LE(at + 8),
      port: buffer.readUInt32LE(at + 12),
      payload: buffer.subarray(at + HEADER_LENGTH, at + length),
    });
    at += (length + 3) & ~3;
  }
  return messages;
}

/** Which nf_tables message this is, or undefined where it is none. */
export const nftType = (message: Message): number | undefined => (message.type >> 8 === NFNL.SUBSYSTEM ? message.type & 0xff : undefined);

/** The address family that an nf_tables message speaks of. */
export const familyOf = (message: Message): number => message.payload[0] ?? 0;

/** The attributes of an nf_tables message. */
export const attributesOf = (message: Message): readonly Attribute[] => parseAttributes(message.payload.subarray(FAMILY_HEADER_LENGTH));

/** The attributes in a buffer. */
export function parseAttributes(buffer: Buffer): readonly Attribute[] {
  const attributes: Attribute[] = [];
  for (let at = 0; at + 4 <= buffer.length; ) {
    const length = buffer.readUInt16LE(at);
    const type = buffer.readUInt16LE(at + 2);
    if (length < 4 || at + length > buffer.length) break;
    attributes.push({ type: type & NLA.TYPE_MASK, isNested: (type & NLA.NESTED) !== 0, value: buffer.subarray(at + 4, at + length) });
    at += (length + 3) & ~3;
  }
  return attributes;
}

/** The value of the first attribute of a type, or undefined. */
export const findAttribute = (attributes: readonly Attribute[], type: number): Buffer | undefined => attributes.find((attribute) => attribute.type === type)?.value;

/** The text of an attribute without its closing zero byte; empty where the attribute is missing. */
export function textOf(attributes: readonly Attribute[], type: number): string {
  const value = findAttribute(attributes, type);
  if (value === undefined) return '';
  const end = value.indexOf(0);
  return value.toString('latin1', 0, end === -1 ? value.length : end);
}

/** The number in an attribute of four bytes; 0 where it is missing. */
export const u32Of = (attributes: readonly Attribute[], type: number): number => findAttribute(attributes, type)?.readUInt32BE(0) ?? 0;

/** The attributes nested in an attribute; none where it is missing. */
export const nestedOf = (attributes: readonly Attribute[], type: number): readonly Attribute[] => parseAttributes(findAttribute(attributes, type) ?? Buffer.alloc(0));

/**
 * Whether everything wanted is there: each wanted attribute, in order among those of its type and as many of them, nested
 * ones by the same rule. What the kernel adds on its own (handles, defaults, counts) does not matter.
 */
export function containsAttributes(want: readonly Attribute[], got: readonly Attribute[]): boolean {
  const types = new Set(want.map(({ type }) => type));
  return [...types].every((type) => {
    const wanted = want.filter((attribute) => attribute.type === type);
    const present = got.filter((attribute) => attribute.type === type);
    return wanted.length === present.length && wanted.every((attribute, index) => isSameAttribute(attribute, present[index]));
  });
}

function isSameAttribute(want: Attribute, got: Attribute | undefined): boolean {
  if (got === undefined) return false;
  return want.isNested ? containsAttributes(parseAttributes(want.value), parseAttributes(got.value)) : want.value.equals(got.value);
}
