import { backendName, DEFAULT_CAPACITY, deriveTable, isSameItems, keepSame, tableOf, type DerivedTable, type Endpoint, type ListTable, type Lookups, type MemberBackend } from '#domain/fleet';
import { compositePorts, findLocalPart, keyOfSelector, objectKey, type CompositeBackendObject, type CompositePort, type EndpointSelectorObject, type ServiceImportObject, type ServiceObject } from '#domain/gateway-api';

import { compositeTraits, type BackendTraits } from './backend-traits.js';
import { localEndpointFinder, type EndpointSources } from './local-endpoints.js';
import type { ImportSliceObject, LocalObjects, NodeObject } from './local-objects.js';
import { selectPods, type SelectedPods } from './select-pods.js';
import { groupSlices, type ServiceSlices } from './service-slices.js';

/** What one cluster's objects say of who answers: found once, read by reports and by plans. */
export interface LocalView {
  readonly selectors: ListTable<EndpointSelectorObject>;
  readonly services: ListTable<ServiceObject>;
  readonly pods: SelectedPods;
  readonly slices: ServiceSlices;
  readonly serviceImports: ListTable<ServiceImportObject>;
  readonly importSlices: ServiceSlices<ImportSliceObject>;
  readonly nodes: readonly NodeObject[];
  /** By name of the node. */
  readonly zones: ReadonlyMap<string, string>;
  readonly compositeBackends: ListTable<CompositeBackendObject>;
  readonly composites: DerivedTable<CompositeBackendObject, LocalComposite, PartSources>;
  /** What the cluster offers to the fleet, sorted by name. */
  readonly offers: readonly MemberBackend[];
}

/** Where local parts and their endpoints are looked up. */
export interface PartSources extends EndpointSources {
  readonly selectors: EndpointSelectorObject;
  readonly services: ServiceObject;
}

/** A CompositeBackend's local part, found; nothing of it where there is none. */
export interface LocalComposite {
  readonly traits: BackendTraits;
  readonly ports: readonly CompositePort[];
  readonly endpoints: readonly Endpoint[];
  /** What it offers to the fleet; one that is being deleted offers nothing. */
  readonly offer: MemberBackend | undefined;
}

/** Looks at the objects. The result depends on them alone, `previous` only saves work: what did not change is the same object as before. */
export function viewLocalObjects(objects: LocalObjects, previous?: LocalView): LocalView {
  const selectors = tableOf(objects.endpointSelectors, keyOfSelector, previous?.selectors);
  const found = {
    selectors,
    compositeBackends: tableOf(objects.compositeBackends, ({ meta }) => objectKey(meta), previous?.compositeBackends),
    services: tableOf(objects.services, objectKey, previous?.services),
    pods: selectPods(objects.pods, selectors, previous?.pods),
    slices: groupSlices(objects.endpointSlices, previous?.slices),
    serviceImports: tableOf(objects.serviceImports, ({ meta }) => objectKey(meta), previous?.serviceImports),
    importSlices: groupSlices(objects.importSlices, previous?.importSlices),
    nodes: objects.nodes,
    zones: nodeZones(objects.nodes, previous),
  };
  const composites = deriveTable(found.compositeBackends, partSources(found), findLocalComposite, previous?.composites);
  const offers = composites.values.flatMap(({ offer }) => offer ?? []);
  return { ...found, composites, offers: previous !== undefined && isSameItems(previous.offers, offers) ? previous.offers : offers };
}

/** The look-ups of a view. */
export const partSources = ({ selectors, services, pods, slices, zones }: Omit<LocalView, 'composites' | 'offers'>): Lookups<PartSources> => ({
  selectors,
  services,
  pods,
  slices: slices.byService,
  zones,
});

function findLocalComposite(composite: CompositeBackendObject, sources: Lookups<PartSources>, before: LocalComposite | undefined): LocalComposite {
  const part = findLocalPart(composite, sources);
  const traits = compositeTraits(composite, part);
  if (part === undefined) return keepSame<LocalComposite>(before, { traits, ports: [], endpoints: [], offer: undefined });
  const ports = compositePorts(composite, part);
  const found = localEndpointFinder(sources)(part, ports);
  const endpoints = keepSame(before?.endpoints, composite.publishNotReadyAddresses ? found.map(asReady) : found);
  return keepSame<LocalComposite>(before, { traits, ports, endpoints, offer: composite.meta.isDeleting ? undefined : memberBackend(composite, traits, { ports, endpoints }) });
}

// R20: what is on its way out takes no new connection, however much is published.
const asReady = (endpoint: Endpoint): Endpoint => (endpoint.terminating ? endpoint : { ...endpoint, ready: true, serving: true });

const memberBackend = (composite: CompositeBackendObject, { affinity }: BackendTraits, { ports, endpoints }: Pick<LocalComposite, 'ports' | 'endpoints'>): MemberBackend => ({
  name: backendName(composite.meta.namespace, composite.meta.name),
  trafficClass: 'endpoints',
  sessionAffinity: affinity,
  ports: ports.map(({ port, protocol }) => ({ port, protocol })),
  endpoints,
  capacity: composite.capacity ?? DEFAULT_CAPACITY,
});

// Nodes change more often than where they are.
function nodeZones(nodes: readonly NodeObject[], previous: LocalView | undefined): LocalView['zones'] {
  if (previous?.nodes === nodes) return previous.zones;
  const zones = new Map(nodes.map(({ name, zone }) => [name, zone]));
  return previous !== undefined && isSameItems([...previous.zones].flat(), [...zones].flat()) ? previous.zones : zones;
}
