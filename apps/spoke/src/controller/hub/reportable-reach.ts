import { SPOKE_API_LIMITS } from '#contracts/spoke-api';
import { endpointAddressFault } from '#domain/addresses';
import type { MemberReach, Problem } from '#domain/fleet';

/** A cluster's reach as it may be reported, and what had to be left out of it. */
export interface ReportableReach {
  readonly reach: MemberReach;
  readonly problems: readonly Problem[];
}

/** Fits a reach to what the hub accepts: one address that it refuses must not take the word of the whole cluster away. */
export function fitReach(reach: MemberReach): ReportableReach {
  const { gatewaysMax, egressMax, probesMax } = SPOKE_API_LIMITS;
  const gateways = fitAddresses(reach.gateways, 'gateways', gatewaysMax);
  const egress = fitAddresses(reach.egress, 'egress', egressMax);
  const probes = fitAddresses(reach.probes, 'probes', probesMax);
  return { reach: { ...reach, gateways: gateways.addresses, egress: egress.addresses, probes: probes.addresses }, problems: [...gateways.problems, ...egress.problems, ...probes.problems] };
}

function fitAddresses(addresses: readonly string[], path: string, max: number): { readonly addresses: readonly string[]; readonly problems: readonly Problem[] } {
  const faulty = addresses.flatMap((address) => {
    const fault = endpointAddressFault(address);
    return fault === undefined ? [] : [{ address, fault }];
  });
  const good = addresses.filter((address) => faulty.every((one) => one.address !== address));
  const problems: Problem[] = faulty.map(({ address, fault }) => ({ path, code: 'ADDRESS_INVALID', message: `"${address}" ${fault}; it is left out of what others are told of this cluster's nodes` }));
  if (good.length > max) problems.push({ path, code: 'TOO_MANY_ADDRESSES', message: `a cluster may name ${max} addresses as ${path} and has ${good.length}; those after ${good[max - 1] ?? ''} are left out. Where nodes leave by translated addresses, name those in spillway.dev/egress-address` });
  return { addresses: good.slice(0, max), problems };
}
