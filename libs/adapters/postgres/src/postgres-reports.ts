import { type BackendName, byKey, type ClusterId, FleetError, type MemberBackend, memberBackendDigest, type MemberReach, reachDigest, reportDigest, settleFirstSeen } from '#domain/fleet';
import type { GatewayPortRange } from '#domain/topology';
import { type Fence, type Judgement, type MemberReport, type ReportOutcome, ReportStore } from '#ports';

import { appendChanges, checkFence, type Database, type RunSql } from './database.js';
import { settleGatewayPorts } from './gateway-port-rows.js';
import { encodeBody } from './part-row.js';
import { clusterNotFound, codesOf, guarded } from './store-errors.js';

const BACKENDS_MAX = 2_000;

// A heartbeat is one statement: it writes nothing where the cluster is not there.
const HEARTBEAT_SQL = `
WITH cluster AS (SELECT id, freshness, first_list_complete, report_digest, reach_digest FROM clusters WHERE id = $1),
beat AS (
  INSERT INTO heartbeats (cluster_id, last_report_at, spoke_version, clock_skew_ms, applied_epoch, applied_sequence)
  SELECT id, $2, $3, $4, $5, $6 FROM cluster
  ON CONFLICT (cluster_id) DO UPDATE SET last_report_at = excluded.last_report_at, spoke_version = excluded.spoke_version,
    clock_skew_ms = excluded.clock_skew_ms, applied_epoch = excluded.applied_epoch, applied_sequence = excluded.applied_sequence
)
SELECT freshness, first_list_complete, report_digest, reach_digest FROM cluster`;

const UPSERT_PARTS_SQL = `
INSERT INTO member_backends (cluster_id, name, body, encoding, digest, observed_at, first_seen_sequence)
SELECT $1, name, body, encoding, digest, $2, sequence
FROM unnest($3::text[], $4::bytea[], $5::text[], $6::text[], $7::bigint[]) AS p(name, body, encoding, digest, sequence)
ON CONFLICT (cluster_id, name) DO UPDATE SET body = excluded.body, encoding = excluded.encoding, digest = excluded.digest, observed_at = excluded.observed_at`;

const JUDGE_SQL = `
UPDATE clusters SET freshness = $2 WHERE id = $1 AND freshness <> $2
AND (SELECT last_report_at FROM heartbeats WHERE cluster_id = $1) IS NOT DISTINCT FROM $3::timestamptz RETURNING id`;

/** Reports in PostgreSQL. */
export class PostgresReportStore extends ReportStore {
  readonly #db: Database;
  readonly #gatewayPorts: GatewayPortRange;
  constructor(db: Database, gatewayPorts: GatewayPortRange) {
    super();
    this.#db = db;
    this.#gatewayPorts = gatewayPorts;
  }

  async accept(report: MemberReport): Promise<ReportOutcome> {
    const isChange = report.full || report.reach?.changed !== undefined || report.changed.length > 0 || report.removed.length > 0;
    try {
      const settled = isChange ? undefined : await this.#acceptHeartbeat(report);
      return settled ?? (await this.#db.loggedSql((sql) => this.#acceptChanges(sql, report)));
    } catch (error) {
      // The cluster was removed while its report was on the way.
      if (codesOf(error).includes('23503')) throw clusterNotFound(report.clusterId);
      throw error;
    }
  }

  /** The outcome of a report without changes; undefined where it still changes the member's freshness. */
  async #acceptHeartbeat(report: MemberReport): Promise<ReportOutcome | undefined> {
    const { rows } = await guarded(() => this.#db.pool.query<Record<string, unknown>>(HEARTBEAT_SQL, this.#heartbeat(report)));
    const row = rows[0];
    if (row === undefined) throw clusterNotFound(report.clusterId);
    if (row['first_list_complete'] !== true) return { resendFull: true, sequence: undefined };
    return row['freshness'] === 'fresh' ? { resendFull: row['report_digest'] !== report.digest || isReachUnknown(report, String(row['reach_digest'])), sequence: undefined } : undefined;
  }

  #heartbeat(report: MemberReport): unknown[] {
    return [report.clusterId, this.#db.now(), report.spokeVersion, report.clockSkewMs, report.applied?.epoch ?? null, report.applied?.sequence ?? null];
  }

  async #acceptChanges(sql: RunSql, report: MemberReport): Promise<ReportOutcome> {
    const { clusterId } = report;
    const [row] = await sql(HEARTBEAT_SQL, ...this.#heartbeat(report));
    if (row === undefined) throw clusterNotFound(clusterId);
    const isFirst = row['first_list_complete'] !== true;
    if (!report.full && isFirst) return { resendFull: true, sequence: undefined };
    const stored = await sql('SELECT name, digest FROM member_backends WHERE cluster_id = $1', clusterId);
    const storedDigests = new Map(stored.map((part) => [part['name'] as BackendName, String(part['digest'])]));
    const diff = diffReport(report, storedDigests, isFirst);
    const reach = await this.#settleReach(sql, report, String(row['reach_digest']));
    const isJudged = row['freshness'] !== 'fresh' || isFirst || reach.isMoved;
    const told = new Set([...diff.changed.map(({ backend }) => backend.name), ...diff.removed]);
    // Changed ones first: their numbers are when they were first seen.
    const names = [...told, ...reach.touched.filter((name) => !told.has(name))];
    const parts = names.map((name) => ({ kind: 'part', clusterId, name }) as const);
    const sequences = await appendChanges(sql, [...parts, ...(isJudged ? [{ kind: 'member', clusterId } as const] : [])]);
    if (diff.changed.length > 0) await sql(UPSERT_PARTS_SQL, clusterId, this.#db.now(), ...partColumns(diff.changed, await placesOf(sql, report, { changed: diff.changed, stored: storedDigests, sequences, isFirst })));
    if (diff.removed.length > 0) await sql('DELETE FROM member_backends WHERE cluster_id = $1 AND name = ANY($2::text[])', clusterId, diff.removed);
    if (isJudged || row['report_digest'] !== diff.digest) {
      await sql("UPDATE clusters SET report_digest = $2, freshness = 'fresh', first_list_complete = true WHERE id = $1", clusterId, diff.digest);
    }
    return { resendFull: diff.digest !== report.digest || isReachUnknown(report, reach.digest), sequence: sequences.at(-1) };
  }

  /** Takes over how the cluster is reached, and gives its backends their gateway ports. */
  async #settleReach(sql: RunSql, report: MemberReport, digestBefore: string): Promise<SettledReach> {
    const { clusterId, full, changed, removed } = report;
    const [row] = await sql('SELECT reach FROM clusters WHERE id = $1', clusterId);
    const before = (row?.['reach'] ?? undefined) as MemberReach | undefined;
    const reach = reachAfter(report, before);
    const digest = reach === undefined ? '' : reachDigest(reach);
    const isMoved = digest !== digestBefore;
    if (isMoved) await sql('UPDATE clusters SET reach = $2::jsonb, reach_digest = $3 WHERE id = $1', clusterId, reach === undefined ? null : JSON.stringify(reach), digest);
    const { touched } = await settleGatewayPorts(sql, {
      clusterId,
      reach,
      hadGateways: before !== undefined && before.gateways.length > 0,
      changed: new Map(changed.map((backend) => [backend.name, backend.ports])),
      removed,
      isWhole: full,
      held: report.reach?.gatewayPorts ?? [],
      range: this.#gatewayPorts,
      nowMs: this.#db.clock.nowMs(),
    });
    return { isMoved, digest, touched };
  }

  async judge(judgements: readonly Judgement[], fence: Fence | undefined): Promise<readonly ClusterId[]> {
    return this.#db.loggedSql(async (sql) => {
      await checkFence(sql, fence);
      const judged: ClusterId[] = [];
      for (const { clusterId, freshness, lastReportAtMs } of [...judgements].sort(byKey((judgement) => judgement.clusterId))) {
        const rows = await sql(JUDGE_SQL, clusterId, freshness, lastReportAtMs === undefined ? null : new Date(lastReportAtMs));
        if (rows.length > 0) judged.push(clusterId);
      }
      await appendChanges(sql, judged.map((clusterId) => ({ kind: 'member', clusterId })));
      return judged;
    });
  }
}

interface SettledReach {
  readonly isMoved: boolean;
  readonly digest: string;
  /** Backends whose gateway ports changed. */
  readonly touched: readonly BackendName[];
}

// A full report that does not speak of it says that nothing is known; another one that nothing changed.
function reachAfter({ full, reach }: MemberReport, before: MemberReach | undefined): MemberReach | undefined {
  return reach?.changed ?? (full ? undefined : before);
}

const isReachUnknown = (report: MemberReport, digest: string): boolean => report.reach !== undefined && report.reach.digest !== digest;

interface DigestedBackend {
  readonly backend: MemberBackend;
  readonly digest: string;
}

interface ReportDiff {
  readonly changed: readonly DigestedBackend[];
  readonly removed: readonly BackendName[];
  /** Of the whole state after the report. */
  readonly digest: string;
}

function diffReport(report: MemberReport, stored: ReadonlyMap<BackendName, string>, isFirst: boolean): ReportDiff {
  const told = report.changed.map((backend) => ({ backend, digest: memberBackendDigest(backend) }));
  const toldNames = new Set(report.changed.map((backend) => backend.name));
  const removed = report.full ? [...stored.keys()].filter((name) => !toldNames.has(name)).sort() : report.removed.filter((name) => stored.has(name));
  const after = new Map(report.full ? [] : stored);
  for (const { backend, digest } of told) after.set(backend.name, digest);
  for (const name of removed) after.delete(name);
  const digest = reportDigest(after);
  if (report.full && digest !== report.digest) {
    throw new FleetError('REPORT_DIGEST_MISMATCH', 'user', 'the full report does not add up to its own digest; upgrade the spoke, or send it again');
  }
  if (after.size > BACKENDS_MAX) throw new FleetError('REPORT_TOO_MANY_BACKENDS', 'user', `a cluster may have ${BACKENDS_MAX} backends; this would be ${after.size}`);
  // What the view did not show until now is news, even where a backup held it.
  return { changed: told.filter((part) => isFirst || stored.get(part.backend.name) !== part.digest), removed, digest };
}

interface NumberedChanges {
  readonly changed: readonly DigestedBackend[];
  readonly stored: ReadonlyMap<BackendName, string>;
  readonly sequences: readonly bigint[];
  readonly isFirst: boolean;
}

/** Places of changed backends in the first-seen order; those that are stored keep the one that they have. */
async function placesOf(sql: RunSql, { firstSeen }: MemberReport, { changed, stored, sequences, isFirst }: NumberedChanges): Promise<readonly bigint[]> {
  if (changed.every(({ backend }) => stored.has(backend.name))) return changed.map(() => 0n);
  const [row] = await sql('SELECT epoch_began_at FROM hub_state WHERE id = 1');
  const epochBeganAtMs = (row?.['epoch_began_at'] as Date).getTime();
  return changed.map(({ backend }, index) => settleFirstSeen({ epochBeganAtMs, sequence: sequences[index] ?? 0n }, firstSeen?.get(backend.name), isFirst));
}

function partColumns(changed: readonly DigestedBackend[], places: readonly bigint[]): unknown[] {
  const bodies = changed.map(({ backend }) => encodeBody(backend));
  return [
    changed.map(({ backend }) => backend.name),
    bodies.map(({ body }) => body),
    bodies.map(({ encoding }) => encoding),
    changed.map(({ digest }) => digest),
    places.map(String),
  ];
}
