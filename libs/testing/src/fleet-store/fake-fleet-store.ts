import { FleetError, type Freeze, type SamenessPolicy } from '#domain/fleet';
import type { GatewayPortRange } from '#domain/topology';
import {
  type AuditEntry,
  AuditLog,
  type Clock,
  type Fence,
  FleetStore,
  type FreezeRequest,
  type HubAuthority,
  type HubIdentity,
  HubStateStore,
  type Lease,
  LeaseStore,
  PolicyStore,
} from '#ports';

import { FakeClock } from '../fake-clock.js';
import { FakeChangeLog } from './fake-change-log.js';
import { FakeEnrolmentStore } from './fake-enrolment.js';
import { FakeMembershipStore } from './fake-membership.js';
import { FakeReportStore } from './fake-reports.js';
import { FakeState, type FakeTables, newIdentity, sortedBy } from './fake-state.js';

/**
 * The store in memory, behaving as the real one does (one conformance spec runs against both). Two hubs of a test share
 * one instance as replicas share one database.
 */
export class FakeFleetStore extends FleetStore {
  readonly membership: FakeMembershipStore;
  readonly enrolment: FakeEnrolmentStore;
  readonly reports: FakeReportStore;
  readonly policies: FakePolicyStore;
  readonly changeLog: FakeChangeLog;
  readonly leases: FakeLeaseStore;
  readonly audit: FakeAuditLog;
  readonly hubState: FakeHubStateStore;
  readonly #state: FakeState;

  constructor(clock: Clock = new FakeClock(), gatewayPorts?: GatewayPortRange) {
    super();
    const state = new FakeState(clock, gatewayPorts);
    this.#state = state;
    this.membership = new FakeMembershipStore(state);
    this.enrolment = new FakeEnrolmentStore(state);
    this.reports = new FakeReportStore(state);
    this.policies = new FakePolicyStore(state);
    this.changeLog = new FakeChangeLog(state);
    this.leases = new FakeLeaseStore(state);
    this.audit = new FakeAuditLog(state);
    this.hubState = new FakeHubStateStore(state);
  }

  /** False makes every call throw STORE_UNAVAILABLE, as a lost database does. */
  set available(value: boolean) {
    this.#state.available = value;
  }

  /** All rows as they are now, as a dump of the database. */
  backup(): FakeTables {
    return structuredClone(this.#state.tables);
  }

  /** Puts a dump back; declareRestore() says so to the fleet. */
  putBack(tables: FakeTables): void {
    this.#state.tables = structuredClone(tables);
    queueMicrotask(() => this.#state.listeners.forEach((listener) => listener()));
  }

  async ping(): Promise<void> {
    this.#state.begin();
  }

  async close(): Promise<void> {
    this.#state.listeners.clear();
  }
}

class FakePolicyStore extends PolicyStore {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async save(policy: SamenessPolicy, by: string): Promise<void> {
    const { policies } = this.#state.begin();
    const before = policies.get(policy.name);
    if (JSON.stringify(before) === JSON.stringify(policy)) return;
    policies.set(policy.name, structuredClone(policy));
    this.#append(policy.name, before, policy);
    this.#state.audit({ by, action: 'setSamenessPolicy', target: `samenessPolicy/${policy.name}`, before: before ?? null, after: policy });
  }

  #append(name: string, ...versions: (SamenessPolicy | undefined)[]): void {
    const namespaces = [...new Set(versions.flatMap((version) => version?.namespaces ?? []))].sort();
    this.#state.append({ kind: 'policy', name, namespaces });
  }

  async remove(name: string, by: string): Promise<void> {
    const before = this.#state.begin().policies.get(name);
    if (before === undefined) throw new FleetError('POLICY_NOT_FOUND', 'user', `there is no sameness policy ${name}`);
    this.#state.tables.policies.delete(name);
    this.#append(name, before);
    this.#state.audit({ by, action: 'deletePolicy', target: `samenessPolicy/${name}`, before, after: null });
  }

  async find(name: string): Promise<SamenessPolicy | undefined> {
    return this.#state.begin().policies.get(name);
  }

  async list(): Promise<readonly SamenessPolicy[]> {
    return sortedBy(this.#state.begin().policies.values(), (policy) => policy.name);
  }

  async freeze(request: FreezeRequest, by: string, fence?: Fence): Promise<Freeze> {
    const tables = this.#state.begin();
    this.#state.checkFence(fence);
    if (tables.freeze !== undefined) return tables.freeze;
    const freeze: Freeze = { reason: request.reason, sinceMs: this.#state.clock.nowMs(), capacities: structuredClone(request.capacities) };
    tables.freeze = freeze;
    this.#state.append({ kind: 'freeze' });
    this.#state.audit({ by, action: 'freezeAutomation', target: 'fleet', before: null, after: { reason: request.reason } });
    return freeze;
  }

  async resume(by: string, fence?: Fence): Promise<void> {
    const tables = this.#state.begin();
    this.#state.checkFence(fence);
    if (tables.freeze === undefined) return;
    const { reason } = tables.freeze;
    tables.freeze = undefined;
    this.#state.append({ kind: 'freeze' });
    this.#state.audit({ by, action: 'resumeAutomation', target: 'fleet', before: { reason }, after: null });
  }
}

class FakeLeaseStore extends LeaseStore {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async acquire(lease: string, holder: string, ttlMs: number): Promise<Lease | undefined> {
    const { leases } = this.#state.begin();
    const nowMs = this.#state.clock.nowMs();
    const row = leases.get(lease);
    const isFree = row === undefined || row.expiresAtMs <= nowMs;
    if (!isFree && row.holder !== holder) return undefined;
    const fencingToken = isFree ? (row?.fencingToken ?? 0n) + 1n : row.fencingToken;
    const next = { holder, fencingToken, expiresAtMs: nowMs + ttlMs };
    leases.set(lease, next);
    return { lease, ...next };
  }

  async release(lease: Lease): Promise<void> {
    const row = this.#state.begin().leases.get(lease.lease);
    if (row === undefined || row.fencingToken !== lease.fencingToken) return;
    this.#state.tables.leases.set(lease.lease, { ...row, expiresAtMs: 0 });
  }
}

class FakeAuditLog extends AuditLog {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async record(entry: Omit<AuditEntry, 'id' | 'atMs'>): Promise<void> {
    this.#state.begin();
    this.#state.audit(entry);
  }

  async list(page: { readonly limit: number; readonly before?: bigint; readonly target?: string }): Promise<readonly AuditEntry[]> {
    const { before, target, limit } = page;
    return this.#state
      .begin()
      .audit.filter((entry) => (before === undefined || entry.id < before) && (target === undefined || entry.target === target))
      .reverse()
      .slice(0, limit);
  }
}

class FakeHubStateStore extends HubStateStore {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async identity(): Promise<HubIdentity> {
    return this.#state.begin().identity;
  }

  async declareRestore(by: string): Promise<HubIdentity> {
    const tables = this.#state.begin();
    const before = tables.identity;
    tables.identity = newIdentity(before.restoreCounter + 1, this.#state.clock.nowMs());
    for (const [id, row] of sortedBy(tables.clusters, ([clusterId]) => clusterId)) {
      tables.clusters.set(id, { ...row, freshness: 'joining', firstListComplete: false, spoke: undefined });
      this.#state.append({ kind: 'member', clusterId: id });
    }
    this.#state.audit({ by, action: 'declareRestore', target: 'fleet', before: { epoch: before.epoch }, after: { epoch: tables.identity.epoch } });
    return tables.identity;
  }

  async saveAuthority(authority: HubAuthority): Promise<HubAuthority> {
    const tables = this.#state.begin();
    tables.authority ??= authority;
    return tables.authority;
  }

  async openAuthority(): Promise<HubAuthority | undefined> {
    return this.#state.begin().authority;
  }

  async saveAdminTokenHash(hash: string): Promise<boolean> {
    const tables = this.#state.begin();
    if (tables.adminTokenHash !== undefined) return false;
    tables.adminTokenHash = hash;
    return true;
  }

  async adminTokenHash(): Promise<string | undefined> {
    return this.#state.begin().adminTokenHash;
  }
}
