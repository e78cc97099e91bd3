import { isIp } from '#domain/addresses';

import type { NftFamily } from './nft-ruleset.js';

/** The family of an address in canonical text; undefined where the text is none. */
export function familyOf(address: string): NftFamily | undefined {
  if (!isIp(address)) return undefined;
  return address.includes(':') ? 'ip6' : 'ip';
}

/** Whether an address that is known to be one is of a family; far cheaper than reading it. */
export const isOfFamily = (address: string, family: NftFamily): boolean => address.includes(':') === (family === 'ip6');

/** Whether a number is a port that a connection can go to. */
export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;
