import { parseIp } from '#domain/addresses';
import type { DnsRecord } from '#domain/dns-records';

import { CLASS_NUMBERS, HEADER_BYTES, TYPE_NUMBERS } from './dns-codes.js';

/** Pointers have 14 bits. */
const POINTER_TARGET_MAX = 0x3fff;
const POINTER_FLAG = 0xc000;
const SRV_WEIGHT = 100;
/** Two text-sized names, and what is around them: no record of ours is longer. */
const RECORD_BYTES_MAX = 1_024;

/**
 * Writes the records that follow one question in a response. Names are compressed against the question's name and against
 * each other: only the question says how its letters are written, so its case comes back everywhere.
 */
export class WireWriter {
  #bytes: Buffer = Buffer.alloc(RECORD_BYTES_MAX);
  #length = 0;
  readonly #start: number;
  /** Where in the message each name, or end of a name, was written first. */
  readonly #offsets = new Map<string, number>();
  readonly #pointersAt: number[] = [];

  /** The question's name is lower case; empty for the root. */
  constructor(questionName: string) {
    this.#start = HEADER_BYTES + wireLength(questionName) + 4;
    let at = HEADER_BYTES;
    for (let rest = questionName; rest !== ''; rest = withoutFirstLabel(rest)) {
      this.#offsets.set(rest, at);
      at += 1 + firstLabel(rest).length;
    }
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** Where, in what was written, the pointers are; each counts from the start of the message. */
  get pointersAt(): readonly number[] {
    return this.#pointersAt;
  }

  /** What was written. */
  take(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  record(record: DnsRecord): void {
    this.#reserve();
    this.#name(record.name);
    this.#word(TYPE_NUMBERS[record.type]);
    this.#word(CLASS_NUMBERS.internet);
    this.#long(record.ttlSeconds);
    const lengthAt = this.#length;
    this.#word(0);
    this.#data(record);
    this.#bytes.writeUInt16BE(this.#length - lengthAt - 2, lengthAt);
  }

  #data(record: DnsRecord): void {
    switch (record.type) {
      case 'A':
      case 'AAAA':
        return this.#address(record.address);
      case 'NS':
        return this.#name(record.target);
      case 'TXT':
        return this.#text(record.text);
      case 'SRV':
        for (const word of [0, SRV_WEIGHT, record.port]) this.#word(word);
        // RFC 2782: this name is not compressed. Others may point to it.
        return this.#name(record.target, false);
      case 'SOA':
        this.#name(record.nameServer);
        this.#name(record.mailbox);
        for (const number of [record.serial, record.refreshSeconds, record.retrySeconds, record.expireSeconds, record.minimumSeconds]) this.#long(number);
    }
  }

  #name(name: string, mayCompress = true): void {
    for (let rest = name; rest !== ''; rest = withoutFirstLabel(rest)) {
      const known = this.#offsets.get(rest);
      if (known !== undefined && mayCompress) {
        this.#pointersAt.push(this.#length);
        this.#word(POINTER_FLAG | known);
        return;
      }
      const at = this.#start + this.#length;
      if (known === undefined && at <= POINTER_TARGET_MAX) this.#offsets.set(rest, at);
      this.#text(firstLabel(rest));
    }
    this.#bytes[this.#length++] = 0;
  }

  #text(text: string): void {
    this.#bytes[this.#length++] = text.length;
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  #address(text: string): void {
    const ip = parseIp(text);
    if (ip === undefined) throw new RangeError(`${text} is no address`);
    for (let shift = ip.family === 'IPv4' ? 24 : 120; shift >= 0; shift -= 8) this.#bytes[this.#length++] = Number((ip.value >> BigInt(shift)) & 0xffn);
  }

  #word(value: number): void {
    this.#length = this.#bytes.writeUInt16BE(value, this.#length);
  }

  #long(value: number): void {
    this.#length = this.#bytes.writeUInt32BE(value, this.#length);
  }

  #reserve(): void {
    if (this.#bytes.length - this.#length >= RECORD_BYTES_MAX) return;
    const larger = Buffer.alloc(this.#bytes.length * 2);
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}

/** Bytes of a name on the wire, uncompressed. */
export const wireLength = (name: string): number => (name === '' ? 1 : name.length + 2);

const firstLabel = (name: string): string => (name.includes('.') ? name.slice(0, name.indexOf('.')) : name);
const withoutFirstLabel = (name: string): string => (name.includes('.') ? name.slice(name.indexOf('.') + 1) : '');
