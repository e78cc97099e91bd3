import { containsIp, formatIp, parseCidr, parseIp, type IpNumber, type IpRange } from './ip-text.js';

/** Ranges that mean something else on every machine, so that no member may lead another one's traffic there. */
const SPECIAL_RANGES: readonly { readonly range: IpRange; readonly meaning: string }[] = (
  [
    ['0.0.0.0/8', 'an unspecified address'],
    ['127.0.0.0/8', 'a loopback address'],
    // Cloud metadata services live here.
    ['169.254.0.0/16', 'a link-local address'],
    ['224.0.0.0/4', 'a multicast address'],
    ['240.0.0.0/4', 'a reserved address'],
    ['::/128', 'an unspecified address'],
    ['::1/128', 'a loopback address'],
    ['::ffff:0:0/96', 'IPv4 in disguise'],
    ['::/96', 'IPv4 in disguise'],
    ['64:ff9b::/96', 'IPv4 in disguise'],
    ['fe80::/10', 'a link-local address'],
    // The metadata service of AWS over IPv6.
    ['fd00:ec2::/32', 'a link-local address'],
    ['ff00::/8', 'a multicast address'],
  ] as const
).flatMap(([cidr, meaning]) => {
  const range = parseCidr(cidr);
  return range === undefined ? [] : [{ range, meaning }];
});

/**
 * Why a text cannot be the address of an endpoint, as words that follow it; undefined where it can. Endpoints of one cluster
 * become destinations on the nodes of others: an address that is loopback or link-local there would turn a member's word
 * into traffic to the consumers' own machines. One spelling per address, so that none can be named twice.
 */
export function endpointAddressFault(text: string): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return 'is no IP address';
  const meaning = specialMeaning(ip);
  if (meaning !== undefined) return `is ${meaning}, which other clusters cannot be sent to`;
  const canonical = formatIp(ip);
  return canonical === text ? undefined : `must be written as ${canonical}`;
}

const specialMeaning = (ip: IpNumber): string | undefined => SPECIAL_RANGES.find(({ range }) => containsIp(range, ip))?.meaning;
