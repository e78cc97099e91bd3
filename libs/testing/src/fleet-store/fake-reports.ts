import { type BackendName, type ClusterId, FleetError, memberBackendDigest, type MemberReach, reachDigest, reportDigest, settleFirstSeen } from '#domain/fleet';
import { type GatewayPortRow, planGatewayPorts } from '#domain/topology';
import { type ClusterRecord, type Fence, type Judgement, type MemberReport, type ReportOutcome, ReportStore } from '#ports';

import { type FakePartRow, type FakeState, sortedBy } from './fake-state.js';

const BACKENDS_MAX = 2_000;

/** What members report, over {@link FakeState}. */
export class FakeReportStore extends ReportStore {
  readonly #state: FakeState;
  constructor(state: FakeState) {
    super();
    this.#state = state;
  }

  async accept(report: MemberReport): Promise<ReportOutcome> {
    const row = this.#state.requireCluster(report.clusterId);
    if (!report.full && !row.firstListComplete) {
      this.#saveHeartbeat(row, report, row);
      return { resendFull: true, sequence: undefined };
    }
    const start = this.#state.tables.sequence;
    const differs = this.#applyParts(report, !row.firstListComplete);
    const reach = report.full ? report.reach?.changed : (report.reach?.changed ?? row.reach);
    this.#settleGatewayPorts(report, start, { before: row.reach, reach });
    this.#saveHeartbeat(row, report, { freshness: 'fresh', firstListComplete: true, reach });
    const end = this.#state.tables.sequence;
    const isReachUnknown = report.reach !== undefined && (reach === undefined || reachDigest(reach) !== report.reach.digest);
    return { resendFull: differs || isReachUnknown, sequence: end === start ? undefined : end };
  }

  #applyParts(report: MemberReport, isFirst: boolean): boolean {
    const { clusterId, full } = report;
    const before = this.#state.tables.parts.get(clusterId) ?? new Map<BackendName, FakePartRow>();
    const changed = new Map(report.changed.map((backend) => [backend.name, { backend, digest: memberBackendDigest(backend) }]));
    const removed = full ? [...before.keys()].filter((name) => !changed.has(name)).sort() : report.removed.filter((name) => before.has(name));
    const digests = new Map([...(full ? [] : before), ...changed].map(([name, part]) => [name, part.digest]));
    for (const name of removed) digests.delete(name);
    const differs = checkSums(report, digests);
    const after = new Map(before);
    const { epochBeganAtMs } = this.#state.tables.identity;
    const placeOf = (name: BackendName, sequence: bigint): bigint => settleFirstSeen({ epochBeganAtMs, sequence }, report.firstSeen?.get(name), isFirst);
    for (const [name, part] of changed) {
      const known = before.get(name);
      // What the view did not show until now is news, even where a backup held it.
      if (!isFirst && known?.digest === part.digest) continue;
      const sequence = this.#state.append({ kind: 'part', clusterId, name });
      after.set(name, { ...part, clusterId, firstSeenSequence: known?.firstSeenSequence ?? placeOf(name, sequence) });
    }
    for (const name of removed) {
      after.delete(name);
      this.#state.append({ kind: 'part', clusterId, name });
    }
    this.#state.tables.parts.set(clusterId, after);
    return differs;
  }

  #settleGatewayPorts({ clusterId, full, changed, removed, reach: told }: MemberReport, start: bigint, { before, reach }: { readonly before: MemberReach | undefined; readonly reach: MemberReach | undefined }): void {
    const { tables, clock, gatewayPortRange: range } = this.#state;
    const rows = tables.gatewayPorts.get(clusterId) ?? new Map<number, GatewayPortRow>();
    tables.gatewayPorts.set(clusterId, rows);
    const mayAssign = hasGateways(reach);
    const isWhole = full || (mayAssign && !hasGateways(before));
    const current = isWhole ? [...(tables.parts.get(clusterId)?.values() ?? [])].map(({ backend }) => backend) : changed;
    const plan = planGatewayPorts({ rows: [...rows.values()], told: new Map(current.map((backend) => [backend.name, backend.ports])), removed, isWhole, mayAssign, held: told?.gatewayPorts ?? [], range, nowMs: clock.nowMs() });
    for (const row of plan.write) rows.set(row.gatewayPort, row);
    const logged = new Set(tables.log.filter(({ sequence }) => sequence > start).map(({ target }) => (target.kind === 'part' ? target.name : undefined)));
    for (const name of plan.touched.filter((touched) => !logged.has(touched))) this.#state.append({ kind: 'part', clusterId, name });
  }

  #saveHeartbeat(row: ClusterRecord, report: MemberReport, judged: Pick<ClusterRecord, 'freshness' | 'firstListComplete' | 'reach'>): void {
    const { freshness, firstListComplete, reach } = judged;
    this.#state.tables.clusters.set(row.cluster.id, {
      ...row,
      freshness,
      firstListComplete,
      reach,
      versions: { ...row.versions, spoke: report.spokeVersion },
      spoke: { version: report.spokeVersion, lastReportAtMs: this.#state.clock.nowMs(), clockSkewMs: report.clockSkewMs, applied: report.applied },
    });
    const isMoved = reach !== row.reach && JSON.stringify(reach) !== JSON.stringify(row.reach);
    if (row.freshness !== freshness || row.firstListComplete !== firstListComplete || isMoved) this.#state.append({ kind: 'member', clusterId: row.cluster.id });
  }

  async judge(judgements: readonly Judgement[], fence: Fence | undefined): Promise<readonly ClusterId[]> {
    const tables = this.#state.begin();
    this.#state.checkFence(fence);
    return sortedBy(judgements, (judgement) => judgement.clusterId).flatMap(({ clusterId, freshness, lastReportAtMs }) => {
      const row = tables.clusters.get(clusterId);
      if (row === undefined || row.freshness === freshness || row.spoke?.lastReportAtMs !== lastReportAtMs) return [];
      tables.clusters.set(clusterId, { ...row, freshness });
      this.#state.append({ kind: 'member', clusterId });
      return [clusterId];
    });
  }
}

const hasGateways = (reach: MemberReach | undefined): boolean => reach !== undefined && reach.gateways.length > 0;

function checkSums(report: MemberReport, digests: ReadonlyMap<BackendName, string>): boolean {
  const differs = reportDigest(digests) !== report.digest;
  if (differs && report.full) throw new FleetError('REPORT_DIGEST_MISMATCH', 'user', 'the full report does not add up to its own digest; upgrade the spoke, or send it again');
  if (digests.size > BACKENDS_MAX) throw new FleetError('REPORT_TOO_MANY_BACKENDS', 'user', `a cluster may have ${BACKENDS_MAX} backends; this would be ${digests.size}`);
  return differs;
}
