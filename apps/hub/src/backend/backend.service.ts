import { Inject, Injectable } from '@nestjs/common';

import { backendName, byKey, clusterId, countReady, splitBackendName, type BackendName, type ClusterId, type Endpoint, type FleetView, type Freshness, type ImportedBackend, type MemberPart } from '#domain/fleet';
import { judgeSameness, planBackend, readyCapacity } from '#domain/sameness';
import { FleetStore } from '#ports';

import { FleetViewSource } from '../core/fleet-view-source.js';
import { planPage, type Page, type PageRequest } from '../graphql/page.js';
import type { Backend, BackendImport, BackendMember, Conflict } from './backend.model.js';

/** A backend as shown, and what its further fields are computed from. */
export interface ShownBackend extends Backend {
  readonly key: BackendName;
  readonly source: BackendSource;
}

/** A member's part as shown, with all of its endpoints. */
export interface ShownMember extends BackendMember {
  readonly allEndpoints: readonly Endpoint[];
}

/** One view and the time of every member's last report: what a whole query is answered from. */
export interface BackendSource {
  readonly view: FleetView;
  readonly reportedAtMs: ReadonlyMap<ClusterId, number>;
}

/** Shows backends, their members' parts and what each consumer sees, from the view in memory. */
@Injectable()
export class BackendService {
  constructor(
    @Inject(FleetStore) private readonly store: FleetStore,
    @Inject(FleetViewSource) private readonly views: FleetViewSource,
  ) {}

  async list(namespace: string | undefined, page: PageRequest): Promise<Page<ShownBackend>> {
    const source = await this.#source();
    const names = [...source.view.parts.keys()].filter((key) => namespace === undefined || splitBackendName(key).namespace === namespace).sort();
    const { nodes, edges, ...rest } = planPage(names, (key) => key, page);
    const shown = nodes.map((key) => showBackend(key, source));
    return { ...rest, nodes: shown, edges: shown.map((node, index) => ({ node, cursor: edges[index]?.cursor ?? '' })) };
  }

  async find(namespace: string, name: string): Promise<ShownBackend | undefined> {
    const source = await this.#source();
    const key = backendName(namespace, name);
    return source.view.parts.has(key) ? showBackend(key, source) : undefined;
  }

  async #source(): Promise<BackendSource> {
    const records = await this.store.membership.list();
    const reports = records.flatMap(({ cluster, spoke }) => (spoke === undefined ? [] : [[cluster.id, spoke.lastReportAtMs] as const]));
    return { view: this.views.current().view, reportedAtMs: new Map(reports) };
  }
}

/** Every member's part of a backend, sorted by cluster. */
export function showMembers({ key, source }: ShownBackend, page: PageRequest): Page<ShownMember> {
  const parts = [...partsOf(key, source)].sort(byKey((part) => part.clusterId));
  return planPage(parts.map((part) => showMember(part, source)), ({ cluster }) => cluster, page);
}

/** What one consumer, or every one that sees it, sees of a backend; sorted by consumer. */
export function showImports({ key, source }: ShownBackend, consumer: string | undefined, page: PageRequest): Page<BackendImport> {
  const consumers = consumer === undefined ? [...source.view.members.keys()].sort() : [clusterId(consumer)];
  const imports = consumers.flatMap((id) => {
    const imported = planBackend(source.view, id, key);
    return imported === undefined ? [] : [showImport(id, imported, source)];
  });
  return planPage(imports, (shown) => shown.consumer, page);
}

/** Every conflict that some party of a backend is told of, each once. */
export function showConflicts({ key, source }: ShownBackend): readonly Conflict[] {
  const told = partsOf(key, source).flatMap(({ clusterId: id }) => planBackend(source.view, id, key)?.conflicts ?? []);
  return [...new Map(told.map((conflict) => [conflict.message, conflict])).values()].sort(byKey(({ message }) => message));
}

/** One page of a member's endpoints. */
export function showEndpoints({ allEndpoints }: ShownMember, page: PageRequest): Page<Endpoint> {
  return planPage([...allEndpoints].sort(byKey(endpointKey)), endpointKey, page);
}

// Several endpoints may share an address, with other target ports.
const endpointKey = ({ address, targetPorts }: Endpoint): string => `${address} ${targetPorts.join(',')}`;

const partsOf = (key: BackendName, { view }: BackendSource): readonly MemberPart[] => (view.parts.get(key) ?? []).filter(({ clusterId: id }) => view.members.has(id));

function showBackend(key: BackendName, source: BackendSource): ShownBackend {
  const parts = partsOf(key, source);
  const clusters = parts.map(({ clusterId: id }) => id);
  const serving = parts.filter(({ clusterId: id, backend }) => freshnessOf(id, source) !== 'stale' && countReady(backend.endpoints) > 0);
  return { ...splitBackendName(key), key, source, memberCount: parts.length, servingCount: serving.length, ...observationOf(clusters, source) };
}

function showMember({ clusterId: id, backend, firstSeenSequence }: MemberPart, source: BackendSource): ShownMember {
  const cluster = source.view.members.get(id)?.cluster;
  const judged = cluster === undefined ? { mayExport: false, mayImport: false, refusals: [] } : judgeSameness(source.view.policies, splitBackendName(backend.name).namespace, cluster);
  return {
    cluster: id,
    trafficClass: backend.trafficClass,
    sessionAffinity: backend.sessionAffinity,
    ports: backend.ports,
    capacity: backend.capacity,
    endpointCount: backend.endpoints.length,
    readyCount: countReady(backend.endpoints),
    readyCapacity: readyCapacity(backend),
    firstSeenSequence: firstSeenSequence.toString(),
    ...judged,
    ...observationOf([id], source),
    allEndpoints: backend.endpoints,
  };
}

function showImport(consumer: ClusterId, imported: ImportedBackend, source: BackendSource): BackendImport {
  const { trafficClass, sessionAffinity, memberCount, servingCount, conflicts, refusals } = imported;
  return {
    consumer,
    trafficClass,
    sessionAffinity,
    memberCount,
    servingCount,
    conflicts,
    refusals,
    providers: imported.providers.map(({ clusterId: cluster, locality, path, readyAssumed }) => ({ cluster, location: locality, path, readyCount: readyAssumed, ...observationOf([cluster], source) })),
    ports: imported.ports.map(({ port, shares }) => ({ ...port, shares: shares.map(({ clusterId: cluster, shareBp }) => ({ cluster, shareBp })) })),
    ...observationOf(imported.providers.map(({ clusterId: id }) => id), source),
  };
}

const freshnessOf = (id: ClusterId, { view }: BackendSource): Freshness => view.members.get(id)?.freshness ?? 'joining';

const STALEST_FIRST: readonly Freshness[] = ['stale', 'joining', 'fresh'];

/** When the oldest of several sources was observed, and how fresh the stalest is. */
function observationOf(clusters: readonly ClusterId[], source: BackendSource): { readonly observedAt: Date | undefined; readonly freshness: Freshness } {
  const times = clusters.flatMap((id) => source.reportedAtMs.get(id) ?? []);
  const freshness = STALEST_FIRST.find((level) => clusters.some((id) => freshnessOf(id, source) === level)) ?? 'joining';
  return { observedAt: times.length === 0 ? undefined : new Date(Math.min(...times)), freshness };
}
