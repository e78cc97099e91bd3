import { formatIp, parseIp } from '#domain/addresses';
import type { NftFamily, NftFieldKind } from '#domain/nft-ruleset';

/** How many words of four bytes a field of a key or value takes. */
export const fieldWords = (family: NftFamily, field: NftFieldKind): number => (field === 'address' && family === 'ip6' ? 4 : 1);

/** How many bytes fields take one behind the other. */
export const fieldsLength = (family: NftFamily, fields: readonly NftFieldKind[]): number => fields.reduce((sum, field) => sum + 4 * fieldWords(family, field), 0);

const PROTOCOL_NUMBERS = { tcp: 6, udp: 17 } as const;

/** The number of a protocol in an IP header. */
export const protocolNumber = (protocol: string): number => (protocol === 'udp' ? PROTOCOL_NUMBERS.udp : PROTOCOL_NUMBERS.tcp);

/** Appends a field's value as the kernel keeps it: small ones at the beginning of their word, marks in the machine's order. */
export function pushField(words: number[], field: NftFieldKind, value: string | number): void {
  switch (field) {
    case 'address':
      pushAddress(words, String(value));
      return;
    case 'protocol':
      words.push(protocolNumber(String(value)) << 24);
      return;
    case 'port':
      words.push(Number(value) << 16);
      return;
    case 'mark':
      words.push(swapped(Number(value)));
      return;
    default:
      words.push(Number(value));
  }
}

/** Reads the value of a field at a place of a key or value. */
export function readField(bytes: Buffer, at: number, family: NftFamily, field: NftFieldKind): string | number {
  switch (field) {
    case 'address':
      return family === 'ip' ? bytes.subarray(at, at + 4).join('.') : formatIp({ family: 'IPv6', value: BigInt(`0x${bytes.toString('hex', at, at + 16)}`) });
    case 'protocol':
      return bytes[at] === PROTOCOL_NUMBERS.udp ? 'udp' : 'tcp';
    case 'port':
      return bytes.readUInt16BE(at);
    case 'mark':
      return bytes.readUInt32LE(at);
    default:
      return bytes.readUInt32BE(at);
  }
}

// Every machine that we run on is little-endian.
const swapped = (value: number): number => ((value & 0xff) << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24);

const WORDS_OF_IPV6 = [96n, 64n, 32n, 0n] as const;

function pushAddress(words: number[], address: string): void {
  if (!address.includes(':')) {
    words.push(ipv4Word(address));
    return;
  }
  const value = parseIp(address)?.value ?? 0n;
  for (const shift of WORDS_OF_IPV6) words.push(Number((value >> shift) & 0xffff_ffffn));
}

const ZERO = '0'.charCodeAt(0);
const DOT = '.'.charCodeAt(0);

function ipv4Word(address: string): number {
  let word = 0;
  let octet = 0;
  for (let at = 0; at < address.length; at += 1) {
    const code = address.charCodeAt(at);
    if (code === DOT) {
      word = (word << 8) | octet;
      octet = 0;
    } else {
      octet = octet * 10 + code - ZERO;
    }
  }
  return (word << 8) | octet;
}
