/** The two families of addresses. */
export type IpFamily = 'IPv4' | 'IPv6';

/** An address as a number, with its family. */
export interface IpNumber {
  readonly family: IpFamily;
  readonly value: bigint;
}

/** A range of addresses: its first address, and how many bits its hosts have. */
export interface IpRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly hostBits: number;
}

const FAMILY_BITS = { IPv4: 32, IPv6: 128 } as const;
const DECIMAL_OCTET = /^(0|[1-9][0-9]{0,2})$/;
const IPV4 = /^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!$)|$)){4}$/;
const HEX_GROUP = /^[0-9a-fA-F]{1,4}$/;

/** Reads an address in either family; undefined where the text is none. Leading zeros in IPv4 are refused, as Kubernetes does. */
export function parseIp(text: string): IpNumber | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/** Whether a text is an address; cheaper than reading it. */
export const isIp = (text: string): boolean => IPV4.test(text) || (text.includes(':') && parseIpv6(text) !== undefined);

/** The family of a text that is known to be an address. */
export const ipFamily = (address: string): IpFamily => (address.includes(':') ? 'IPv6' : 'IPv4');

/** Writes an address in its canonical text: dotted IPv4, or IPv6 as RFC 5952 says. */
export function formatIp({ family, value }: IpNumber): string {
  return family === 'IPv4' ? formatIpv4(value) : formatIpv6(value);
}

/** Reads a CIDR; undefined where the text is none. */
export function parseCidr(text: string): IpRange | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  if (ip === undefined || rest.length > 0 || !/^[0-9]{1,3}$/.test(length)) return undefined;
  const hostBits = FAMILY_BITS[ip.family] - Number(length);
  if (hostBits < 0) return undefined;
  return { family: ip.family, first: (ip.value >> BigInt(hostBits)) << BigInt(hostBits), hostBits };
}

/** Whether a range holds an address. */
export const containsIp = ({ family, first, hostBits }: IpRange, ip: IpNumber): boolean => ip.family === family && ip.value >> BigInt(hostBits) === first >> BigInt(hostBits);

function parseIpv4(text: string): IpNumber | undefined {
  const octets = text.split('.');
  if (octets.length !== 4 || !octets.every((octet) => DECIMAL_OCTET.test(octet) && Number(octet) <= 255)) return undefined;
  return { family: 'IPv4', value: octets.reduce((sum, octet) => sum * 256n + BigInt(octet), 0n) };
}

function parseIpv6(text: string): IpNumber | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => groupsOf(half));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0n), ...(tail ?? [])];
  return { family: 'IPv6', value: groups.reduce((sum, group) => (sum << 16n) | group, 0n) };
}

// The last 32 bits may be written as IPv4.
function groupsOf(half: string): readonly bigint[] | undefined {
  if (half === '') return [];
  const parts = half.split(':');
  const last = parts.at(-1) ?? '';
  const embedded = last.includes('.') ? parseIpv4(last)?.value : undefined;
  if (last.includes('.') && embedded === undefined) return undefined;
  const hex = embedded === undefined ? parts : parts.slice(0, -1);
  if (!hex.every((part) => HEX_GROUP.test(part))) return undefined;
  const groups = hex.map((part) => BigInt(`0x${part}`));
  return embedded === undefined ? groups : [...groups, embedded >> 16n, embedded & 0xffffn];
}

const formatIpv4 = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 255n).toString()).join('.');

function formatIpv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) => Number((value >> BigInt((7 - at) * 16)) & 0xffffn));
  const { start, length } = longestZeroRun(groups);
  const hex = groups.map((group) => group.toString(16));
  // RFC 5952: one group of zeros is not shortened.
  if (length < 2) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let length = 0;
  groups.forEach((group, at) => {
    length = group === 0 ? length + 1 : 0;
    if (length > best.length) best = { start: at - length + 1, length };
  });
  return best;
}
