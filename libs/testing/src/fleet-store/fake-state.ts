import {
  byKey,
  type BackendName,
  type ChangeTarget,
  type ClusterId,
  FleetError,
  type Freeze,
  type LogEntry,
  type MemberPart,
  type MemberState,
  type SamenessPolicy,
} from '#domain/fleet';
import { DEFAULT_GATEWAY_PORT_RANGE, type GatewayPortRange, type GatewayPortRow } from '#domain/topology';
import type { AuditEntry, Clock, ClusterRecord, Fence, HubAuthority, HubIdentity, JoinTokenGrant, SpokeKey } from '#ports';

/** A join token as it is kept: its grant, and which spoke used it. */
export interface FakeTokenRow extends JoinTokenGrant {
  readonly usedBy: { readonly uid: string; readonly keyId: string } | undefined;
}

/** A member's part of a backend, with the digest that its report is compared by. */
export interface FakePartRow extends Omit<MemberPart, 'gatewayPorts'> {
  readonly digest: string;
}

interface FakeLeaseRow {
  readonly holder: string;
  readonly fencingToken: bigint;
  readonly expiresAtMs: number;
}

/** All rows of the fake: plain values, so that a backup is a clone. */
export interface FakeTables {
  clusters: Map<ClusterId, ClusterRecord>;
  kubeconfigs: Map<ClusterId, string>;
  keys: Map<string, SpokeKey>;
  tokens: Map<string, FakeTokenRow>;
  parts: Map<ClusterId, Map<BackendName, FakePartRow>>;
  /** By cluster and gateway port; rows outlive backends and clusters. */
  gatewayPorts: Map<ClusterId, Map<number, GatewayPortRow>>;
  policies: Map<string, SamenessPolicy>;
  freeze: Freeze | undefined;
  log: LogEntry[];
  marks: Map<bigint, string>;
  sequence: bigint;
  identity: HubIdentity;
  authority: HubAuthority | undefined;
  adminTokenHash: string | undefined;
  leases: Map<string, FakeLeaseRow>;
  audit: AuditEntry[];
}

/** What the groups of the fake share: rows, clock, and the rules of every write. */
export class FakeState {
  tables: FakeTables;
  available = true;
  readonly clock: Clock;
  readonly listeners = new Set<() => void>();

  constructor(
    clock: Clock,
    readonly gatewayPortRange: GatewayPortRange = DEFAULT_GATEWAY_PORT_RANGE,
  ) {
    this.clock = clock;
    this.tables = {
      clusters: new Map(),
      kubeconfigs: new Map(),
      keys: new Map(),
      tokens: new Map(),
      parts: new Map(),
      gatewayPorts: new Map(),
      policies: new Map(),
      freeze: undefined,
      log: [],
      marks: new Map(),
      sequence: 0n,
      identity: newIdentity(0, clock.nowMs()),
      authority: undefined,
      adminTokenHash: undefined,
      leases: new Map(),
      audit: [],
    };
  }

  /** Every call begins here: the store answers, or it does not. */
  begin(): FakeTables {
    if (!this.available) throw new FleetError('STORE_UNAVAILABLE', 'transient', 'the database does not answer');
    return this.tables;
  }

  checkFence(fence: Fence | undefined): void {
    if (fence === undefined) return;
    const row = this.tables.leases.get(fence.lease);
    if (row?.fencingToken !== fence.fencingToken) throw new FleetError('STORE_FENCED', 'transient', `lease ${fence.lease} has a newer holder; this write is void`);
  }

  requireCluster(id: ClusterId): ClusterRecord {
    const row = this.begin().clusters.get(id);
    if (row === undefined) throw new FleetError('CLUSTER_NOT_FOUND', 'user', `there is no cluster ${id}; register it first`);
    return row;
  }

  append(target: ChangeTarget): bigint {
    const sequence = this.tables.sequence + 1n;
    this.tables.sequence = sequence;
    this.tables.log.push({ sequence, target });
    this.tables.marks.set(sequence, crypto.randomUUID());
    queueMicrotask(() => this.listeners.forEach((listener) => listener()));
    return sequence;
  }

  audit(entry: Omit<AuditEntry, 'id' | 'atMs'>): void {
    this.tables.audit.push({ ...entry, id: BigInt(this.tables.audit.length + 1), atMs: this.clock.nowMs() });
  }

  removeParts(id: ClusterId): void {
    for (const name of [...(this.tables.parts.get(id)?.keys() ?? [])].sort()) this.append({ kind: 'part', clusterId: id, name });
    this.tables.parts.delete(id);
    const ports = this.tables.gatewayPorts.get(id) ?? new Map<number, GatewayPortRow>();
    for (const row of ports.values()) ports.set(row.gatewayPort, { ...row, releasedAtMs: row.releasedAtMs ?? this.clock.nowMs() });
  }
}

/** A new epoch that never was before. */
export function newIdentity(restoreCounter: number, nowMs: number): HubIdentity {
  return { epoch: `${restoreCounter}.${crypto.randomUUID()}`, restoreCounter, epochBeganAtMs: nowMs };
}

/** The part of a record that plans see. */
export const memberStateOf = (row: ClusterRecord): MemberState => ({ cluster: row.cluster, freshness: row.freshness, firstListComplete: row.firstListComplete, reach: row.reach });

/** A copy of a record with other cluster fields. */
export const withCluster = (row: ClusterRecord, over: Partial<ClusterRecord['cluster']>): ClusterRecord => ({ ...row, cluster: { ...row.cluster, ...over } });

/** Rows of a map, sorted by a text key. */
export const sortedBy = <T>(rows: Iterable<T>, keyOf: (row: T) => string): T[] => [...rows].sort(byKey(keyOf));
