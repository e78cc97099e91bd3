import { type Change, type ClusterId, type FleetView, latestPerTarget, type LogEntry, type MemberPart } from '#domain/fleet';
import { type ChangeBatch, ChangeLog, type LoadedView } from '#ports';

import { type FakePartRow, type FakeState, memberStateOf, sortedBy } from './fake-state.js';

/** The change log over {@link FakeState}: complete views, and what changed after a sequence. */
export class FakeChangeLog extends ChangeLog {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async loadView(): Promise<LoadedView> {
    const { identity, sequence, log } = this.#state.begin();
    return { epoch: identity.epoch, sequence, mark: this.#headMark(), view: this.#view(), history: [...log] };
  }

  #view(): FleetView {
    const { clusters, parts, policies, freeze } = this.#state.tables;
    const rows = sortedBy(parts, ([clusterId]) => clusterId).filter(([clusterId]) => this.#isConfirmed(clusterId)).flatMap(([, ofCluster]) => [...ofCluster.values()].map((row) => this.#partOf(row)));
    return {
      members: new Map(sortedBy(clusters.values(), (row) => row.cluster.id).map((row) => [row.cluster.id, memberStateOf(row)])),
      parts: Map.groupBy(rows, (part) => part.backend.name),
      policies: sortedBy(policies.values(), (policy) => policy.name),
      freeze,
    };
  }

  #partOf({ clusterId, backend, firstSeenSequence }: FakePartRow): MemberPart {
    const rows = [...(this.#state.tables.gatewayPorts.get(clusterId)?.values() ?? [])].filter((row) => row.backend === backend.name && row.releasedAtMs === undefined);
    const gatewayPorts = rows.map(({ port, gatewayPort }) => ({ port, gatewayPort })).sort((a, b) => a.gatewayPort - b.gatewayPort);
    return { clusterId, backend, firstSeenSequence, gatewayPorts };
  }

  // After a declared restore a backup's parts are hidden until their member has told everything anew.
  #isConfirmed(clusterId: ClusterId): boolean {
    return this.#state.tables.clusters.get(clusterId)?.firstListComplete === true;
  }

  async changesSince(epoch: string, sequence: bigint): Promise<ChangeBatch | undefined> {
    const tables = this.#state.begin();
    const oldest = tables.log[0]?.sequence ?? tables.sequence + 1n;
    if (epoch !== tables.identity.epoch || sequence > tables.sequence || sequence < oldest - 1n) return undefined;
    const entries = latestPerTarget(tables.log.filter((entry) => entry.sequence > sequence));
    return { epoch, sequence: tables.sequence, mark: this.#headMark(), changes: entries.map((entry) => this.#valueOf(entry)) };
  }

  #valueOf({ sequence, target }: LogEntry): Change {
    const { clusters, parts, policies, freeze } = this.#state.tables;
    switch (target.kind) {
      case 'part': {
        const row = this.#isConfirmed(target.clusterId) ? parts.get(target.clusterId)?.get(target.name) : undefined;
        return { ...target, sequence, part: row === undefined ? undefined : this.#partOf(row) };
      }
      case 'member': {
        const row = clusters.get(target.clusterId);
        return { ...target, sequence, member: row === undefined ? undefined : memberStateOf(row) };
      }
      case 'policy':
        return { ...target, sequence, policy: policies.get(target.name) };
      case 'freeze':
        return { kind: 'freeze', sequence, freeze };
    }
  }

  async markOf(sequence: bigint): Promise<string | undefined> {
    const tables = this.#state.begin();
    return tables.log.some((entry) => entry.sequence === sequence) ? tables.marks.get(sequence) : undefined;
  }

  #headMark(): string {
    const { marks, log, sequence } = this.#state.tables;
    return log.at(-1)?.sequence === sequence ? (marks.get(sequence) ?? '') : '';
  }

  async head(): Promise<{ readonly epoch: string; readonly sequence: bigint }> {
    const { identity, sequence } = this.#state.begin();
    return { epoch: identity.epoch, sequence };
  }

  async onAdvance(listener: () => void): Promise<() => Promise<void>> {
    this.#state.listeners.add(listener);
    return async () => {
      this.#state.listeners.delete(listener);
    };
  }

  async prune(keepCount: number): Promise<void> {
    const tables = this.#state.begin();
    tables.log = keepCount === 0 ? [] : tables.log.slice(-keepCount);
  }
}

