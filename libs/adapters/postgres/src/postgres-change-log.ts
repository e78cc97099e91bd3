import { type BackendName, byKey, type Change, type ChangeTarget, clusterId, type FleetView, latestPerTarget, type LogEntry, type MemberPart, type MemberState, type SamenessPolicy } from '#domain/fleet';
import { type ChangeBatch, ChangeLog, type LoadedView } from '#ports';

import type { AdvanceListener } from './advance-listener.js';
import { memberStateOf } from './cluster-row.js';
import type { Database, RunSql } from './database.js';
import { parseFreeze } from './freeze-column.js';
import { PART_COLUMNS, toPart } from './part-row.js';
import { toPolicy } from './policy-row.js';
import { guarded } from './store-errors.js';

const MARK_SQL = 'SELECT mark FROM change_log WHERE sequence =';
const HEAD_SQL = `SELECT restore_counter || '.' || epoch_id AS epoch, sequence, frozen, (${MARK_SQL} hub_state.sequence) AS mark FROM hub_state WHERE id = 1`;
const MEMBER_COLUMNS = 'id, uid, labels, region, zone, network, freshness, first_list_complete AS "firstListComplete", reach';
const POLICY_COLUMNS = 'name, namespaces, may_export AS "mayExport", may_import AS "mayImport", owner';
// After a declared restore a backup's parts are hidden until their member has told everything anew.
const CONFIRMED_PARTS = 'member_backends JOIN clusters ON clusters.id = cluster_id AND clusters.first_list_complete';
const ENTRIES_SQL = 'SELECT sequence, kind, cluster_id, name, namespaces FROM change_log WHERE sequence > $1 ORDER BY sequence';

type Row = Readonly<Record<string, unknown>>;

/** The change log in PostgreSQL: entries name what changed, values are read in the same snapshot. */
export class PostgresChangeLog extends ChangeLog {
  readonly #db: Database;
  readonly #advance: AdvanceListener;
  constructor(db: Database, advance: AdvanceListener) {
    super();
    this.#db = db;
    this.#advance = advance;
  }

  async loadView(): Promise<LoadedView> {
    return this.#db.snapshot(async (sql) => {
      const head = await readHead(sql);
      const members = (await sql(`SELECT ${MEMBER_COLUMNS} FROM clusters`)).map(toMember);
      const parts = (await sql(`SELECT ${PART_COLUMNS} FROM ${CONFIRMED_PARTS}`)).map(toPart);
      const policies = (await sql(`SELECT ${POLICY_COLUMNS} FROM sameness_policies`)).map(toPolicy);
      const history = (await sql(ENTRIES_SQL, 0)).map(toLogEntry);
      return { epoch: head.epoch, sequence: head.sequence, mark: head.mark, view: assembleView(members, parts, policies, head.freeze), history };
    });
  }

  async changesSince(epoch: string, sequence: bigint): Promise<ChangeBatch | undefined> {
    return this.#db.snapshot(async (sql) => {
      const head = await readHead(sql);
      if (epoch !== head.epoch || sequence > head.sequence) return undefined;
      if (sequence === head.sequence) return { epoch, sequence, mark: head.mark, changes: [] };
      const entries = (await sql(ENTRIES_SQL, sequence)).map(toLogEntry);
      if (entries[0]?.sequence !== sequence + 1n) return undefined;
      return { epoch, sequence: head.sequence, mark: head.mark, changes: await readValues(sql, latestPerTarget(entries), head.freeze) };
    });
  }

  async markOf(sequence: bigint): Promise<string | undefined> {
    const { rows } = await guarded(() => this.#db.pool.query<Row>(`${MARK_SQL} $1`, [sequence]));
    return rows[0] === undefined ? undefined : String(rows[0]['mark']);
  }

  async head(): Promise<{ readonly epoch: string; readonly sequence: bigint }> {
    const { rows } = await guarded(() => this.#db.pool.query<Row>(HEAD_SQL));
    const { epoch, sequence } = toHead(rows[0] ?? {});
    return { epoch, sequence };
  }

  async onAdvance(listener: () => void): Promise<() => Promise<void>> {
    return this.#advance.listen(listener);
  }

  async prune(keepCount: number): Promise<void> {
    await guarded(() => this.#db.pool.query('DELETE FROM change_log WHERE sequence <= (SELECT sequence FROM hub_state WHERE id = 1) - $1', [keepCount]));
  }
}

interface Head {
  readonly epoch: string;
  readonly sequence: bigint;
  readonly mark: string;
  readonly freeze: FleetView['freeze'];
}

const readHead = async (sql: RunSql): Promise<Head> => toHead((await sql(HEAD_SQL))[0] ?? {});

const toHead = (row: Row): Head => ({ epoch: String(row['epoch']), sequence: BigInt(String(row['sequence'])), mark: typeof row['mark'] === 'string' ? row['mark'] : '', freeze: parseFreeze(row['frozen']) });

const toMember = (row: Row): MemberState => memberStateOf(row as Parameters<typeof memberStateOf>[0]);

function toLogEntry(row: Row): LogEntry {
  return { sequence: BigInt(String(row['sequence'])), target: toTarget(row) };
}

function toTarget(row: Row): ChangeTarget {
  switch (row['kind']) {
    case 'part':
      return { kind: 'part', clusterId: clusterId(String(row['cluster_id'])), name: row['name'] as BackendName };
    case 'member':
      return { kind: 'member', clusterId: clusterId(String(row['cluster_id'])) };
    case 'policy':
      return { kind: 'policy', name: String(row['name']), namespaces: row['namespaces'] as string[] };
    default:
      return { kind: 'freeze' };
  }
}

function assembleView(members: readonly MemberState[], parts: readonly MemberPart[], policies: readonly SamenessPolicy[], freeze: FleetView['freeze']): FleetView {
  const sorted = [...members].sort(byKey((member) => member.cluster.id));
  return {
    members: new Map(sorted.map((member) => [member.cluster.id, member])),
    parts: Map.groupBy([...parts].sort(byKey((part) => part.clusterId)), (part) => part.backend.name),
    policies: [...policies].sort(byKey((policy) => policy.name)),
    freeze,
  };
}

const VALUES_SQL = {
  parts: `SELECT ${PART_COLUMNS} FROM ${CONFIRMED_PARTS} JOIN unnest($1::text[], $2::text[]) AS want(w_cluster, w_name) ON cluster_id = w_cluster AND name = w_name`,
  members: `SELECT ${MEMBER_COLUMNS} FROM clusters WHERE id = ANY($1::text[])`,
  policies: `SELECT ${POLICY_COLUMNS} FROM sameness_policies WHERE name = ANY($1::text[])`,
} as const;

async function readValues(sql: RunSql, entries: readonly LogEntry[], freeze: FleetView['freeze']): Promise<readonly Change[]> {
  const targets = entries.map((entry) => entry.target);
  const partTargets = targets.filter((target) => target.kind === 'part');
  const memberIds = targets.filter((target) => target.kind === 'member').map((target) => target.clusterId);
  const policyNames = targets.filter((target) => target.kind === 'policy').map((target) => target.name);
  const partRows = partTargets.length === 0 ? [] : await sql(VALUES_SQL.parts, partTargets.map((target) => target.clusterId), partTargets.map((target) => target.name));
  const parts = new Map(partRows.map(toPart).map((part) => [`${part.clusterId} ${part.backend.name}`, part]));
  const members = new Map((memberIds.length === 0 ? [] : await sql(VALUES_SQL.members, memberIds)).map(toMember).map((member) => [member.cluster.id, member]));
  const policies = new Map((policyNames.length === 0 ? [] : await sql(VALUES_SQL.policies, policyNames)).map(toPolicy).map((policy) => [policy.name, policy]));
  return entries.map(({ sequence, target }): Change => {
    switch (target.kind) {
      case 'part':
        return { ...target, sequence, part: parts.get(`${target.clusterId} ${target.name}`) };
      case 'member':
        return { ...target, sequence, member: members.get(target.clusterId) };
      case 'policy':
        return { ...target, sequence, policy: policies.get(target.name) };
      case 'freeze':
        return { ...target, sequence, freeze };
    }
  });
}
