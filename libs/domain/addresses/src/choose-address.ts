import type { AddressBand } from './address-band.js';
import { formatIp } from './ip-text.js';

// Random numbers carry 53 bits: enough to spread over any range that could be scanned.
const RANDOM_SCALE = 2 ** 52;

/** A free address of these bands, the search starting at a random one of them; undefined where every one is taken. */
export function chooseAddress(bands: readonly AddressBand[], isTaken: (address: string) => boolean, random: number): string | undefined {
  const total = bands.reduce((sum, { count }) => sum + count, 0n);
  if (total === 0n) return undefined;
  const start = (BigInt(Math.floor(random * RANDOM_SCALE)) * total) / BigInt(RANDOM_SCALE);
  for (let step = 0n; step < total; step += 1n) {
    const address = addressAt(bands, (start + step) % total);
    if (!isTaken(address)) return address;
  }
  return undefined;
}

function addressAt(bands: readonly AddressBand[], index: bigint): string {
  let rest = index;
  for (const { family, first, count } of bands) {
    if (rest < count) return formatIp({ family, value: first + rest });
    rest -= count;
  }
  return '';
}
