import { byKey, type BackendName, type BackendPort, type GatewayPortAssignment, type HeldGatewayPort } from '#domain/fleet';

import type { GatewayPortRange } from './gateway-port-range.js';

/** A number that a cluster's backend port has, or had. */
export interface GatewayPortRow extends GatewayPortAssignment {
  readonly backend: BackendName;
  /** Since when the backend's port is gone; undefined while it is there. */
  readonly releasedAtMs: number | undefined;
}

/** One cluster's backends and what is known of their gateway ports. */
export interface GatewayPortInput {
  /** Numbers of this cluster alone: each cluster has all of the range. */
  readonly rows: readonly GatewayPortRow[];
  /** Ports of the backends that are told now; with `isWhole`, of all there are. */
  readonly told: ReadonlyMap<BackendName, readonly BackendPort[]>;
  readonly removed: readonly BackendName[];
  readonly isWhole: boolean;
  /** Whether the cluster has gateways: without, numbers are kept and none is given. */
  readonly mayAssign: boolean;
  /** What the cluster's gateways serve now, as it says itself. */
  readonly held: readonly HeldGatewayPort[];
  readonly range: GatewayPortRange;
  readonly nowMs: number;
}

/** What to write, and what it comes to. */
export interface GatewayPortPlan {
  /** Rows to write; each replaces the row of its number, if there is one. */
  readonly write: readonly GatewayPortRow[];
  /** Backends whose numbers change, sorted. */
  readonly touched: readonly BackendName[];
  /** Backend ports that get none, since every number is taken. */
  readonly leftOut: readonly BackendPortOf[];
}

/** One port of one backend. */
export interface BackendPortOf {
  readonly backend: BackendName;
  readonly port: BackendPort;
}

/**
 * Gives every port of every backend of a cluster a number of its own, once. A number stays while the backend's port is there,
 * comes back to it within the quarantine, and goes to nobody else before the quarantine is over: a consumer that cannot hear
 * the hub still calls the old number, and must not reach another backend by it.
 */
export function planGatewayPorts(input: GatewayPortInput): GatewayPortPlan {
  const wanted = wantedPorts(input);
  const known = new Map(input.rows.map((row) => [portKey(row), row]));
  const write = new Map<number, GatewayPortRow>();
  for (const row of input.rows) {
    if (isGone(row, input, wanted) && row.releasedAtMs === undefined) write.set(row.gatewayPort, { ...row, releasedAtMs: input.nowMs });
  }
  const numbers = freeNumbers(input, wanted);
  const leftOut: BackendPortOf[] = [];
  for (const [key, { backend, port }] of wanted) {
    const row = known.get(key);
    if (row?.releasedAtMs !== undefined) write.set(row.gatewayPort, { ...row, releasedAtMs: undefined });
    if (row !== undefined || !input.mayAssign) continue;
    const gatewayPort = numbers.take(key);
    if (gatewayPort === undefined) leftOut.push({ backend, port });
    else write.set(gatewayPort, { backend, port, gatewayPort, releasedAtMs: undefined });
  }
  return { write: [...write.values()], touched: [...new Set([...write.values()].map(({ backend }) => backend))].sort(), leftOut };
}

const portKey = ({ backend, port }: BackendPortOf): string => `${backend} ${port.port}/${port.protocol}`;

function wantedPorts({ told }: GatewayPortInput): ReadonlyMap<string, BackendPortOf> {
  const all = [...told].flatMap(([backend, ports]) => ports.map((port): BackendPortOf => ({ backend, port })));
  return new Map(all.sort(byKey(portKey)).map((one) => [portKey(one), one]));
}

function isGone(row: GatewayPortRow, { told, removed, isWhole }: GatewayPortInput, wanted: ReadonlyMap<string, unknown>): boolean {
  if (wanted.has(portKey(row))) return false;
  return isWhole || told.has(row.backend) || removed.includes(row.backend);
}

interface FreeNumbers {
  take(key: string): number | undefined;
}

// First what the cluster itself says it serves under, then what nobody ever had, then what has been free for longest.
function freeNumbers({ rows, held, range, nowMs }: GatewayPortInput, wanted: ReadonlyMap<string, unknown>): FreeNumbers {
  const used = new Set(rows.map(({ gatewayPort }) => gatewayPort));
  const heldByKey = new Map(held.map((one) => [portKey(one), one.gatewayPort]));
  const heldNumbers = new Set(heldByKey.values());
  const cooled = rows
    .filter((row) => row.releasedAtMs !== undefined && nowMs - row.releasedAtMs >= range.quarantineMs && isIn(range, row.gatewayPort) && !wanted.has(portKey(row)))
    .sort((a, b) => (a.releasedAtMs ?? 0) - (b.releasedAtMs ?? 0) || a.gatewayPort - b.gatewayPort)
    .map(({ gatewayPort }) => gatewayPort);
  let next = range.first;
  const nextUnused = (): number | undefined => {
    while (next <= range.last && (used.has(next) || heldNumbers.has(next))) next += 1;
    return next <= range.last ? next : undefined;
  };
  return {
    take: (key) => {
      const own = heldByKey.get(key);
      const number = own !== undefined && !used.has(own) && isIn(range, own) ? own : (nextUnused() ?? cooled.shift());
      if (number !== undefined) used.add(number);
      return number;
    },
  };
}

const isIn = ({ first, last }: GatewayPortRange, port: number): boolean => port >= first && port <= last;
