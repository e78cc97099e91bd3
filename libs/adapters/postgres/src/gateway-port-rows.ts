import type { BackendName, BackendPort, HeldGatewayPort, MemberReach, Protocol } from '#domain/fleet';
import { type GatewayPortPlan, type GatewayPortRange, type GatewayPortRow, planGatewayPorts } from '#domain/topology';

import type { RunSql } from './database.js';
import { PART_COLUMNS, toPart } from './part-row.js';

const ROWS_SQL = 'SELECT name, port, protocol, gateway_port, released_at FROM gateway_ports WHERE cluster_id = $1';

const WRITE_SQL = `
INSERT INTO gateway_ports (cluster_id, gateway_port, name, port, protocol, released_at)
SELECT $1, gateway_port, name, port, protocol, released_at
FROM unnest($2::integer[], $3::text[], $4::integer[], $5::text[], $6::timestamptz[]) AS p(gateway_port, name, port, protocol, released_at)
ON CONFLICT (cluster_id, gateway_port) DO UPDATE SET name = excluded.name, port = excluded.port, protocol = excluded.protocol, released_at = excluded.released_at`;

/** What a report means for a cluster's gateway ports. */
export interface GatewayPortChange {
  readonly clusterId: string;
  /** Before the report and after it. */
  readonly hadGateways: boolean;
  readonly reach: MemberReach | undefined;
  readonly changed: ReadonlyMap<BackendName, readonly BackendPort[]>;
  readonly removed: readonly BackendName[];
  /** `changed` is everything. */
  readonly isWhole: boolean;
  readonly held: readonly HeldGatewayPort[];
  readonly range: GatewayPortRange;
  readonly nowMs: number;
}

/** Plans a cluster's gateway ports and writes the plan, under the lock of the log. */
export async function settleGatewayPorts(sql: RunSql, change: GatewayPortChange): Promise<GatewayPortPlan> {
  const { clusterId, reach, held, range, nowMs } = change;
  const rows = (await sql(ROWS_SQL, clusterId)).map(toRow);
  const mayAssign = (reach?.gateways.length ?? 0) > 0;
  if (rows.length === 0 && !mayAssign) return { write: [], touched: [], leftOut: [] };
  const isNew = mayAssign && !change.hadGateways && !change.isWhole;
  const told = isNew ? await everyPort(sql, change) : change.changed;
  const plan = planGatewayPorts({ rows, told, removed: change.removed, isWhole: change.isWhole || isNew, mayAssign, held, range, nowMs });
  if (plan.write.length > 0) await sql(WRITE_SQL, clusterId, ...columnsOf(plan.write));
  return plan;
}

// Gateways that are new lead to what was told before, too.
async function everyPort(sql: RunSql, { clusterId, changed, removed }: GatewayPortChange): Promise<ReadonlyMap<BackendName, readonly BackendPort[]>> {
  const stored = (await sql(`SELECT ${PART_COLUMNS} FROM member_backends WHERE cluster_id = $1`, clusterId)).map(toPart);
  const ports = new Map<BackendName, readonly BackendPort[]>(stored.map(({ backend }) => [backend.name, backend.ports]));
  for (const [name, own] of changed) ports.set(name, own);
  for (const name of removed) ports.delete(name);
  return ports;
}

function toRow(row: Readonly<Record<string, unknown>>): GatewayPortRow {
  const releasedAt = row['released_at'] as Date | null;
  return {
    backend: row['name'] as BackendName,
    port: { port: Number(row['port']), protocol: row['protocol'] as Protocol },
    gatewayPort: Number(row['gateway_port']),
    releasedAtMs: releasedAt?.getTime(),
  };
}

const columnsOf = (rows: readonly GatewayPortRow[]): unknown[] => [
  rows.map(({ gatewayPort }) => gatewayPort),
  rows.map(({ backend }) => backend),
  rows.map(({ port }) => port.port),
  rows.map(({ port }) => port.protocol),
  rows.map(({ releasedAtMs }) => (releasedAtMs === undefined ? null : new Date(releasedAtMs))),
];
