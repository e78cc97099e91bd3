import { type ClusterId, FleetError } from '#domain/fleet';
import { type ClusterObservation, type ClusterRecord, type ClusterRegistration, type ClusterUpdate, type Fence, MembershipStore } from '#ports';

import { type FakeState, sortedBy, withCluster } from './fake-state.js';

/** Registered clusters over {@link FakeState}. */
export class FakeMembershipStore extends MembershipStore {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async register(registration: ClusterRegistration, by: string): Promise<ClusterRecord> {
    const tables = this.#state.begin();
    const { id, labels, region, zone, network, credential } = registration;
    if (tables.clusters.has(id)) throw new FleetError('CLUSTER_NAME_TAKEN', 'user', `the name ${id} is in use; choose another, or remove that cluster first`);
    const row: ClusterRecord = {
      cluster: { id, uid: '', labels: { ...labels }, locality: { region, zone }, network },
      registeredAtMs: this.#state.clock.nowMs(),
      enrolledAtMs: undefined,
      freshness: 'joining',
      firstListComplete: false,
      reach: undefined,
      serverUrl: credential?.serverUrl ?? '',
      hasKubeconfig: credential !== undefined,
      versions: { kubernetes: '', spoke: '' },
      conditions: [],
      inventory: undefined,
      removal: undefined,
      spoke: undefined,
    };
    tables.clusters.set(id, row);
    if (credential !== undefined) tables.kubeconfigs.set(id, credential.kubeconfig);
    this.#state.append({ kind: 'member', clusterId: id });
    this.#state.audit({ by, action: 'registerCluster', target: `cluster/${id}`, before: null, after: auditView(row) });
    return row;
  }

  async update(id: ClusterId, update: ClusterUpdate, by: string): Promise<ClusterRecord> {
    const before = this.#state.requireCluster(id);
    const { cluster } = before;
    const moved = withCluster(before, {
      labels: update.labels ?? cluster.labels,
      locality: { region: update.region ?? cluster.locality.region, zone: update.zone ?? cluster.locality.zone },
      network: update.network ?? cluster.network,
    });
    const after = update.credential === undefined ? moved : { ...moved, hasKubeconfig: true, serverUrl: update.credential.serverUrl };
    if (update.credential !== undefined) this.#state.tables.kubeconfigs.set(id, update.credential.kubeconfig);
    this.#state.tables.clusters.set(id, after);
    if (JSON.stringify(after.cluster) !== JSON.stringify(before.cluster)) this.#state.append({ kind: 'member', clusterId: id });
    this.#state.audit({ by, action: 'updateCluster', target: `cluster/${id}`, before: auditView(before), after: auditView(after) });
    return after;
  }

  async find(id: ClusterId): Promise<ClusterRecord | undefined> {
    return this.#state.begin().clusters.get(id);
  }

  async list(): Promise<readonly ClusterRecord[]> {
    return sortedBy(this.#state.begin().clusters.values(), (row) => row.cluster.id);
  }

  async openKubeconfig(id: ClusterId): Promise<string | undefined> {
    return this.#state.begin().kubeconfigs.get(id);
  }

  async recordObservation(id: ClusterId, observation: ClusterObservation, fence: Fence | undefined): Promise<void> {
    const before = this.#state.requireCluster(id);
    this.#state.checkFence(fence);
    if (observation.uid !== undefined) this.#checkUid(before, observation.uid);
    const replaced = new Set(observation.conditions?.map((condition) => condition.type));
    const bound = observation.uid === undefined ? before : withCluster(before, { uid: observation.uid });
    this.#state.tables.clusters.set(id, {
      ...bound,
      versions: { ...before.versions, kubernetes: observation.kubernetesVersion ?? before.versions.kubernetes },
      inventory: observation.inventory ?? before.inventory,
      conditions: sortedBy([...before.conditions.filter((condition) => !replaced.has(condition.type)), ...(observation.conditions ?? [])], (condition) => condition.type),
    });
    if (bound.cluster.uid !== before.cluster.uid) this.#state.append({ kind: 'member', clusterId: id });
  }

  #checkUid(row: ClusterRecord, uid: string): void {
    const { id, uid: bound } = row.cluster;
    if (bound !== '' && bound !== uid) throw new FleetError('CLUSTER_UID_CHANGED', 'user', `the name ${id} is bound to another cluster; remove it first, or fix its kubeconfig`);
    const other = [...this.#state.tables.clusters.values()].find((candidate) => candidate.cluster.uid === uid && candidate.cluster.id !== id);
    if (other !== undefined) throw new FleetError('CLUSTER_UID_TAKEN', 'user', `this cluster is a member under the name ${other.cluster.id}; remove one of the two`);
  }

  async requestRemoval(id: ClusterId, options: { readonly force: boolean; readonly by: string }): Promise<ClusterRecord> {
    const before = this.#state.requireCluster(id);
    const { force, by } = options;
    const after = { ...before, removal: before.removal === undefined ? { requestedAtMs: this.#state.clock.nowMs(), force, by } : { ...before.removal, force: before.removal.force || force } };
    this.#state.tables.clusters.set(id, after);
    this.#state.audit({ by, action: 'removeCluster', target: `cluster/${id}`, before: auditView(before), after: { ...auditView(after), removal: { force: after.removal.force } } });
    return after;
  }

  async remove(id: ClusterId, options: { readonly by: string; readonly fence: Fence | undefined }): Promise<void> {
    const tables = this.#state.begin();
    this.#state.checkFence(options.fence);
    const before = tables.clusters.get(id);
    if (before === undefined) return;
    this.#state.removeParts(id);
    tables.clusters.delete(id);
    tables.kubeconfigs.delete(id);
    for (const key of [...tables.keys.values()].filter((candidate) => candidate.clusterId === id)) tables.keys.delete(key.keyId);
    for (const token of [...tables.tokens.values()].filter((candidate) => candidate.clusterId === id)) tables.tokens.delete(token.tokenHash);
    this.#state.append({ kind: 'member', clusterId: id });
    this.#state.audit({ by: options.by, action: 'clusterRemoved', target: `cluster/${id}`, before: auditView(before), after: null });
  }
}

function auditView(row: ClusterRecord): Record<string, unknown> {
  const { cluster, serverUrl, hasKubeconfig } = row;
  return { labels: cluster.labels, region: cluster.locality.region, zone: cluster.locality.zone, network: cluster.network, serverUrl, hasKubeconfig };
}
