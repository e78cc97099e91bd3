import { byKey, clusterId, countReady, isRfc1123Label, type ClusterId, type Endpoint, type Lookup } from '#domain/fleet';
import { objectKey, type ServiceImportObject } from '#domain/gateway-api';
import { splitShares } from '#domain/sameness';

import type { BackendTarget } from './gateway-intake.js';
import { sliceEndpoints } from './local-endpoints.js';
import type { ImportSliceObject } from './local-objects.js';
import { planEndpoints } from './plan-endpoints.js';
import type { PlannedProvider } from './routing-plan.js';
import { withoutRepeats } from './without-repeats.js';

/** Where imports and their slices are looked up, by `namespace/name`. */
export interface ImportSources {
  readonly serviceImports: ServiceImportObject;
  readonly importSlices: readonly ImportSliceObject[];
}

/**
 * The clusters that answer for a port of a ServiceImport (R16): one provider for each source cluster of its slices, with a
 * share by how many of its endpoints are ready, since all endpoints of the clusterset count alike (KEP-1645).
 */
export function planImport(target: BackendTarget, { serviceImports, importSlices }: { readonly [K in keyof ImportSources]: Lookup<ImportSources[K]> }, here: Pick<PlannedProvider, 'clusterId' | 'locality'>): readonly PlannedProvider[] {
  const key = objectKey(target);
  const name = serviceImports.get(key)?.ports.find(({ port, protocol }) => port === target.port.port && protocol === target.port.protocol)?.name;
  const slices = name === undefined ? [] : (importSlices.get(key) ?? []);
  const named = [...Map.groupBy(slices, ({ sourceCluster }) => sourceOf(sourceCluster, here.clusterId))]
    .map(([source, own]) => ({ clusterId: source, hostnames: hostnamesOf(own), endpoints: sliceEndpoints(own, [{ name, protocol: target.port.protocol }]).filter(({ targetPorts }) => (targetPorts[0] ?? 0) > 0) }))
    .sort(byKey((source) => source.clusterId));
  const sources = withoutRepeats(named, ({ address, targetPorts }: Endpoint) => `${address} ${targetPorts[0] ?? 0}`);
  const shares = sharesOf(sources);
  return sources.map(({ clusterId: source, hostnames, endpoints }) => ({
    clusterId: source,
    locality: source === here.clusterId ? here.locality : NOWHERE,
    path: 'direct',
    shareBp: shares.get(source) ?? 0,
    endpoints: planEndpoints(endpoints, 0, hostnames),
  }));
}

const NOWHERE = { region: '', zone: '' };

const sourceOf = (label: string, own: ClusterId): ClusterId => (isRfc1123Label(label) ? clusterId(label) : own);

const hostnamesOf = (slices: readonly ImportSliceObject[]): ReadonlyMap<string, string> =>
  new Map(slices.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses: [address], hostname }) => (address === undefined || hostname === '' ? [] : [[address, hostname] as const]))));

interface Source {
  readonly clusterId: ClusterId;
  readonly endpoints: readonly Endpoint[];
}

// R20 over clusters: those that are terminating and still serve take over where nobody is ready any more.
function sharesOf(sources: readonly Source[]): ReadonlyMap<ClusterId, number> {
  const byCount = (count: (endpoints: readonly Endpoint[]) => number): ReturnType<typeof splitShares> => splitShares(sources.map((source) => ({ clusterId: source.clusterId, capacity: count(source.endpoints) })));
  const ready = byCount(countReady);
  const split = ready.length > 0 ? ready : byCount((endpoints) => endpoints.filter(({ serving, terminating }) => serving && terminating).length);
  return new Map(split.map(({ clusterId: source, shareBp }) => [source, shareBp]));
}
