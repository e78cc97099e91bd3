import { byKey, type Problem } from '#domain/fleet';

import { dynamicBand, staticBand, usableBand, type AddressBand } from './address-band.js';
import type { ServiceCidr } from './address-claim.js';
import { containsIp, parseCidr, parseIp, type IpFamily, type IpNumber, type IpRange } from './ip-text.js';

/** The service ranges that addresses may come from. */
export interface ServiceRanges {
  /** Families of which there are addresses, the cluster's first one first. */
  readonly families: readonly IpFamily[];
  /** Bands for a dynamic choice of a family, in the order of preference. */
  readonly bands: (family: IpFamily) => readonly (readonly AddressBand[])[];
  /** Whether a range holds the address, and as one that may be used. */
  readonly placeOf: (ip: IpNumber) => 'usable' | 'reserved' | 'outside';
}

// The ServiceCIDR that the API server makes from its flags; its first range is of the cluster's first family.
const DEFAULT_CIDR = 'kubernetes';

/** The ranges of ServiceCIDRs that are Ready and not being deleted (R3). */
export function serviceRanges(cidrs: readonly ServiceCidr[]): ServiceRanges {
  const ranges = [...cidrs]
    .filter(({ isReady, isDeleting }) => isReady && !isDeleting)
    .sort(byKey(({ name }) => (name === DEFAULT_CIDR ? '' : name)))
    .flatMap(rangesOf);
  return {
    families: [...new Set(ranges.map(({ family }) => family))],
    bands: (family) => {
      const own = ranges.filter((range) => range.family === family);
      return [own.map(dynamicBand), own.map(staticBand)];
    },
    placeOf: (ip) => {
      const holding = ranges.filter((range) => containsIp(range, ip));
      if (holding.length === 0) return 'outside';
      return holding.some((range) => isInBand(usableBand(range), ip)) ? 'usable' : 'reserved';
    },
  };
}

/** What to do about the finalizers of ServiceCIDRs that hold these addresses of ours (R5). */
export interface CidrProtection {
  readonly protectCidrs: readonly string[];
  readonly unprotectCidrs: readonly string[];
  readonly problems: readonly Problem[];
}

/** Kubernetes counts only its own addresses when a ServiceCIDR is deleted; our finalizer makes ours count. */
export function protectCidrs(cidrs: readonly ServiceCidr[], addresses: readonly string[]): CidrProtection {
  const ips = addresses.flatMap((address) => parseIp(address) ?? []);
  const sorted = [...cidrs].sort(byKey(({ name }) => name));
  const needed = new Set(sorted.filter((cidr) => ips.some((ip) => holds(cidr, ip) && !(cidr.isDeleting && isHeldElsewhere(cidr, ip, sorted)))).map(({ name }) => name));
  return {
    // The API server takes no new finalizer on an object that is being deleted.
    protectCidrs: sorted.filter(({ name, hasFinalizer, isDeleting }) => needed.has(name) && !hasFinalizer && !isDeleting).map(({ name }) => name),
    unprotectCidrs: sorted.filter(({ name, hasFinalizer }) => !needed.has(name) && hasFinalizer).map(({ name }) => name),
    problems: sorted
      .filter(({ name, isDeleting }) => needed.has(name) && isDeleting)
      .map(({ name }) => ({
        path: `ServiceCIDR ${name}`,
        code: 'ADDRESS_CIDR_IN_USE',
        message: `ServiceCIDR "${name}" is being deleted while Gateways hold addresses of it; it stays until those Gateways are gone.`,
      })),
  };
}

const rangesOf = ({ cidrs }: ServiceCidr): readonly IpRange[] => cidrs.flatMap((cidr) => parseCidr(cidr) ?? []);
const holds = (cidr: ServiceCidr, ip: IpNumber): boolean => rangesOf(cidr).some((range) => containsIp(range, ip));
const isInBand = ({ first, count }: AddressBand, { value }: IpNumber): boolean => value >= first && value < first + count;
const isHeldElsewhere = (cidr: ServiceCidr, ip: IpNumber, all: readonly ServiceCidr[]): boolean =>
  all.some((other) => other.name !== cidr.name && !other.isDeleting && holds(other, ip));
