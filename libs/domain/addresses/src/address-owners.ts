import { byKey, type NamespacedName } from '#domain/fleet';

import { ADDRESS_MANAGER, GATEWAY_GROUP, GATEWAY_RESOURCE, type IpAddress } from './address-claim.js';
import type { AddressInput } from './address-plan.js';
import { parseIp } from './ip-text.js';

/** Who has which address. */
export interface AddressOwners {
  /** Addresses of ours by the Gateway's `namespace/name`, in numeric order. Those that a Service has taken are not among them. */
  readonly ours: ReadonlyMap<string, readonly IpAddress[]>;
  /** Addresses of ours that a Service holds: lost (the API server always decides for the Service). */
  readonly stolen: readonly IpAddress[];
  /** Whose an address is, in words; undefined where it is free. */
  readonly ownerOf: (address: string) => string | undefined;
}

/** Sorts out who has which address. An IPAddress is ours only with our label and a Gateway as its parent: nothing else is adopted (R6). */
export function addressOwners({ ipAddresses, serviceAddresses, alsoTaken }: AddressInput): AddressOwners {
  const byName = new Map(ipAddresses.map((ip) => [ip.name, ip]));
  const mine = [...byName.values()].filter(isOurs);
  const ours = new Map<string, IpAddress[]>();
  for (const ip of mine.filter(({ name }) => !serviceAddresses.has(name)).sort(byKey(numericKey))) {
    const key = parentKey(ip);
    ours.set(key, [...(ours.get(key) ?? []), ip]);
  }
  return {
    ours,
    stolen: mine.filter(({ name }) => serviceAddresses.has(name)).sort(byKey(numericKey)),
    ownerOf: (address) => {
      const service = serviceAddresses.get(address);
      if (service !== undefined) return `Service "${keyOf(service)}"`;
      const ip = byName.get(address);
      if (ip !== undefined) return ip.parent === undefined ? `IPAddress "${ip.name}"` : `${OWNER_WORDS[ip.parent.resource] ?? ip.parent.resource} "${keyOf(ip.parent)}"`;
      return alsoTaken.has(address) ? 'somebody who took it a moment ago' : undefined;
    },
  };
}

const OWNER_WORDS: Readonly<Record<string, string>> = { [GATEWAY_RESOURCE]: 'Gateway', services: 'Service' };

/** The key of a namespaced name. */
export const keyOf = ({ namespace, name }: NamespacedName): string => (namespace === '' ? name : `${namespace}/${name}`);

const isOurs = ({ managedBy, parent }: IpAddress): boolean => managedBy === ADDRESS_MANAGER && parent?.group === GATEWAY_GROUP && parent.resource === GATEWAY_RESOURCE;
const parentKey = ({ parent }: IpAddress): string => (parent === undefined ? '' : keyOf(parent));
// Padded, so that text order is numeric order.
const numericKey = ({ name }: IpAddress): string => (parseIp(name)?.value ?? 0n).toString(16).padStart(32, '0');
