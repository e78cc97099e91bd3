import type { IpRange } from './ip-text.js';

/** Consecutive addresses: the first one and how many. */
export interface AddressBand {
  readonly family: 'IPv4' | 'IPv6';
  readonly first: bigint;
  readonly count: bigint;
}

// KEP-3070: the static band is a sixteenth of the range, at least 16 and at most 256 addresses; a range of 16 has none.
const STATIC_MIN = 16n;
const STATIC_MAX = 256n;
const STATIC_STEP = 16n;

/** The addresses of a range that a Service or Gateway may have at all: not the network's own, nor IPv4's broadcast. */
export function usableBand({ family, first, hostBits }: IpRange): AddressBand {
  const size = 1n << BigInt(hostBits);
  const count = size - (family === 'IPv4' ? 2n : 1n);
  return { family, first: first + 1n, count: count > 0n ? count : 0n };
}

/** The band in which addresses are chosen at random: above the static band, where people pin ClusterIPs (KEP-3070, R3). */
export function dynamicBand(range: IpRange): AddressBand {
  const usable = usableBand(range);
  const skipped = staticSize(1n << BigInt(range.hostBits));
  const count = usable.count - skipped;
  return { family: usable.family, first: usable.first + skipped, count: count > 0n ? count : 0n };
}

/** The band below it, taken only when the other is full. */
export function staticBand(range: IpRange): AddressBand {
  const usable = usableBand(range);
  const skipped = staticSize(1n << BigInt(range.hostBits));
  return { ...usable, count: skipped < usable.count ? skipped : usable.count };
}

function staticSize(rangeSize: bigint): bigint {
  if (rangeSize <= STATIC_MIN) return 0n;
  const step = rangeSize / STATIC_STEP;
  if (step < STATIC_MIN) return STATIC_MIN;
  return step > STATIC_MAX ? STATIC_MAX : step;
}
