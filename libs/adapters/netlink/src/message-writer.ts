import { BATCH_ATTR, NFNL, NLA, NLM } from './constants.js';

const HEADER_LENGTH = 16;
const ATTRIBUTE_HEADER_LENGTH = 4;
const FIRST_CAPACITY = 4096;

/** Where a message or a nest began, to be handed back when it ends. */
export type Mark = number & { readonly __brand: 'Mark' };

/** Writes netlink messages and their attributes into one growing buffer. Numbers in attributes are big-endian. */
export class MessageWriter {
  #buffer = Buffer.alloc(FIRST_CAPACITY);
  #length = 0;
  #lastMessage = 0;

  get length(): number {
    return this.#length;
  }

  /** What was written so far; valid until the next write. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Begins a message of nf_tables for an address family. */
  begin(message: { readonly type: number; readonly flags: number; readonly family: number; readonly sequence: number }): Mark {
    return this.#begin((NFNL.SUBSYSTEM << 8) | message.type, { ...message, resourceId: 0 });
  }

  /** Writes a border of a batch; its beginning may say for which generation of the rulesets it is. */
  border(type: typeof NFNL.BATCH_BEGIN | typeof NFNL.BATCH_END, sequence: number, generation?: number): void {
    const message = this.#begin(type, { flags: NLM.REQUEST, family: 0, sequence, resourceId: NFNL.SUBSYSTEM });
    if (generation !== undefined) this.u32(BATCH_ATTR.GENERATION, generation);
    this.end(message);
  }

  /** Ends a message: fills in its length. */
  end(mark: Mark): void {
    this.#buffer.writeUInt32LE(this.#length - mark, mark);
  }

  /** Adds flags to the message that was begun last. */
  flagLastMessage(flags: number): void {
    const at = this.#lastMessage + 6;
    this.#buffer.writeUInt16LE(this.#buffer.readUInt16LE(at) | flags, at);
  }

  /** Begins a nested attribute. */
  nest(type: number): Mark {
    const mark = this.#length as Mark;
    this.#attribute(type | NLA.NESTED, 0);
    return mark;
  }

  /** Ends a nested attribute: fills in its length. */
  unnest(mark: Mark): void {
    this.#buffer.writeUInt16LE(this.#length - mark, mark);
  }

  /** An attribute of four bytes. */
  u32(type: number, value: number): void {
    const at = this.#attribute(type, 4);
    this.#buffer.writeUInt32BE(value >>> 0, at);
  }

  /** An attribute of one byte. */
  u8(type: number, value: number): void {
    const at = this.#attribute(type, 1);
    this.#buffer.writeUInt8(value, at);
  }

  /** An attribute of text that ends in a zero byte. */
  text(type: number, value: string): void {
    // Reserving may move the buffer, so it comes first.
    const at = this.#attribute(type, value.length + 1);
    this.#buffer.write(value, at, 'latin1');
  }

  /** An attribute of eight bytes. */
  u64(type: number, value: number): void {
    const at = this.#attribute(type, 8);
    this.#buffer.writeBigUInt64BE(BigInt(value), at);
  }

  /** An attribute of numbers of four bytes each: keys and values of elements. */
  words(type: number, words: readonly number[]): void {
    let at = this.#attribute(type, words.length * 4);
    for (const word of words) at = this.#buffer.writeUInt32BE(word >>> 0, at);
  }

  /** An attribute of bytes. */
  raw(type: number, value: Uint8Array): void {
    const at = this.#attribute(type, value.length);
    this.#buffer.set(value, at);
  }

  #begin(type: number, head: { readonly flags: number; readonly family: number; readonly sequence: number; readonly resourceId: number }): Mark {
    const mark = this.#reserve(HEADER_LENGTH + ATTRIBUTE_HEADER_LENGTH) as Mark;
    this.#lastMessage = mark;
    this.#buffer.writeUInt16LE(type, mark + 4);
    this.#buffer.writeUInt16LE(head.flags, mark + 6);
    this.#buffer.writeUInt32LE(head.sequence, mark + 8);
    this.#buffer.writeUInt8(head.family, mark + HEADER_LENGTH);
    this.#buffer.writeUInt16BE(head.resourceId, mark + HEADER_LENGTH + 2);
    return mark;
  }

  // Returns where the attribute's value goes; padding to four bytes stays zero.
  #attribute(type: number, valueLength: number): number {
    const at = this.#reserve(ATTRIBUTE_HEADER_LENGTH + valueLength);
    this.#buffer.writeUInt16LE(ATTRIBUTE_HEADER_LENGTH + valueLength, at);
    this.#buffer.writeUInt16LE(type, at + 2);
    return at + ATTRIBUTE_HEADER_LENGTH;
  }

  #reserve(byteCount: number): number {
    const at = this.#length;
    this.#length += (byteCount + 3) & ~3;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#length, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    return at;
  }
}
