import type { Frontend } from '#domain/routing-plan';

import { asciiLowerCase } from './dns-names.js';
import type { DnsZone } from './dns-zone.js';
import { serviceName, ZoneDraft, type DnsZoneOptions } from './zone-draft.js';

/** The zone of Gateway addresses under a cluster's DNS domain. */
export const gatewayZone = (clusterDomain: string): string => `gw.${asciiLowerCase(clusterDomain)}`;

/**
 * The zone in which each Gateway's names lead to its addresses, and each of its named listeners has an SRV record
 * `_listener._protocol` below each name. A Gateway without addresses exists, and has no data.
 */
export function buildGatewayZone(frontends: readonly Frontend[], options: DnsZoneOptions): DnsZone {
  const draft = new ZoneDraft(options);
  for (const frontend of frontends) {
    if (frontend.kind === 'gateway') for (const name of namesIn(draft, frontend)) addAddressed(draft, name, frontend);
  }
  return draft.finish();
}

/** The frontend's names that the zone can have. */
export const namesIn = (draft: ZoneDraft, frontend: Frontend): readonly string[] => frontend.dnsNames.map(asciiLowerCase).filter((name) => draft.canHave(name));

/** Adds a name of a frontend that has addresses of its own. */
export function addAddressed(draft: ZoneDraft, name: string, frontend: Frontend): void {
  draft.addName(name);
  for (const address of frontend.addresses) draft.addAddress(name, address);
  for (const listener of frontend.listeners) {
    const service = serviceName(listener, name);
    if (service !== undefined) draft.addPort(service, listener.port, name);
  }
}
