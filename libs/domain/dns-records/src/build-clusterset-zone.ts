import type { Frontend, PlannedBackend, RoutingPlan } from '#domain/routing-plan';

import { addAddressed, namesIn } from './build-gateway-zone.js';
import { asciiLowerCase } from './dns-names.js';
import type { DnsZone } from './dns-zone.js';
import { serviceName, ZoneDraft, type DnsZoneOptions } from './zone-draft.js';

/** The clusterset's zone; its name is the same everywhere (KEP-1645). */
const CLUSTERSET_ZONE = 'clusterset.local';

const SERVICES_SUFFIX = `.svc.${CLUSTERSET_ZONE}`;
const SPECIFICATION_VERSION = '1.0.0';

/**
 * The zone of the clusterset's imports, by the multi-cluster DNS specification 1.0.0. An import with addresses has them,
 * and SRV records of its ports. A headless one has the addresses of its ready endpoints, of each a name
 * `<hostname>.<cluster id>` below its own, and SRV records that lead to those names; with no ready endpoint it does not
 * exist. Backends that are not given are not known: then nothing is said of the name.
 */
export function buildClustersetZone({ frontends, backends }: Pick<RoutingPlan, 'frontends' | 'backends'>, options: Omit<DnsZoneOptions, 'origin'>): DnsZone {
  const draft = new ZoneDraft({ ...options, origin: CLUSTERSET_ZONE });
  const known = new Map<string, PlannedBackend>(backends.map((backend) => [backend.id, backend]));
  draft.addText(`dns-version.${CLUSTERSET_ZONE}`, SPECIFICATION_VERSION);
  for (const frontend of frontends) {
    if (frontend.kind !== 'service-import') continue;
    for (const name of namesIn(draft, frontend).filter((one) => one.endsWith(SERVICES_SUFFIX))) {
      if (frontend.isHeadless) addHeadless(draft, name, frontend, known);
      else addClusterSetIp(draft, name, frontend);
    }
  }
  return draft.finish();
}

function addClusterSetIp(draft: ZoneDraft, name: string, frontend: Frontend): void {
  addAddressed(draft, name, frontend);
  for (const { port } of frontend.listeners) draft.addPort(name, port, name);
}

function addHeadless(draft: ZoneDraft, name: string, frontend: Frontend, known: ReadonlyMap<string, PlannedBackend>): void {
  const ids = frontend.listeners.flatMap(({ uses }) => uses.map(({ backend }) => backend));
  if (ids.some((id) => !known.has(id))) {
    draft.addUnknown(name);
    return;
  }
  for (const listener of frontend.listeners) {
    const service = serviceName(listener, name);
    for (const { label, clusterId, address, port } of listener.uses.flatMap(({ backend }) => reachableEndpoints(known.get(backend)))) {
      const endpoint = `${label}.${clusterId}.${name}`;
      draft.addAddress(name, address);
      draft.addAddress(endpoint, address);
      draft.addPort(name, port, endpoint);
      if (service !== undefined) draft.addPort(service, port, endpoint);
    }
  }
}

interface NamedEndpoint {
  readonly label: string;
  readonly clusterId: string;
  readonly address: string;
  readonly port: number;
}

// Behind another cluster's gateway there are no addresses that a client here could call.
const reachableEndpoints = (backend: PlannedBackend | undefined): readonly NamedEndpoint[] =>
  (backend?.providers ?? [])
    .filter(({ path }) => path === 'direct')
    .flatMap(({ clusterId, endpoints }) =>
      endpoints.filter(({ state }) => state === 'ready').map(({ hostname, address, port }) => ({ label: labelOf(hostname, address), clusterId, address, port })),
    );

const HOSTNAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

function labelOf(hostname: string, address: string): string {
  const label = asciiLowerCase(hostname);
  return HOSTNAME.test(label) ? label : address.replace(/[.:]/g, '-');
}
