import { FleetError, isFleetError } from '#domain/fleet';

// SQLSTATE classes and codes that heal by themselves or by a hand at the server: connection trouble, a server that starts, stops
// or is a standby for now, a disk or a memory that is full or fails, a transaction to repeat.
const TRANSIENT_SQLSTATE = /^(08...|57P0.|53...|58...|25006|25P03|40001|40P01|55P03|57014)$/;
const TRANSIENT_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2034']);
const TRANSIENT_MESSAGE = /Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Can't reach database server|Cannot use a pool after calling end/;

// Characters that PostgreSQL has no text for: NUL, and halves of surrogate pairs.
const TEXT_SQLSTATE = new Set(['22021', '22P05']);
const NOT_JSON_SQLSTATE = '22P02';

/**
 * Runs a call and turns connection trouble into STORE_UNAVAILABLE, and text that cannot be stored into TEXT_INVALID; other
 * errors pass.
 */
export async function guarded<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asStoreError(error);
  }
}

function asStoreError(error: unknown): unknown {
  if (isFleetError(error) || typeof error !== 'object' || error === null) return error;
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  const codes = codesOf(error);
  if (codes.some((code) => TEXT_SQLSTATE.has(code) || (code === NOT_JSON_SQLSTATE && message.includes('json')))) {
    return new FleetError('TEXT_INVALID', 'user', 'a text has characters that cannot be stored (NUL, or half of a surrogate pair); leave them out', { cause: error });
  }
  const isTransient = codes.some((code) => TRANSIENT_SQLSTATE.test(code) || TRANSIENT_CODES.has(code)) || TRANSIENT_MESSAGE.test(message);
  if (!isTransient) return error;
  return new FleetError('STORE_UNAVAILABLE', 'transient', 'the database does not answer; the call can be repeated', { cause: error });
}

/** The error's own code, and those of what caused it: a driver's SQLSTATE is found through Prisma's wrapping. */
export function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, originalCode, cause, meta } = error as { code?: unknown; originalCode?: unknown; cause?: unknown; meta?: { driverAdapterError?: unknown } };
  const own = [code, originalCode].filter((value) => typeof value === 'string');
  return [...own, ...codesOf(cause), ...codesOf(meta?.driverAdapterError)];
}

/** The error of a cluster id that is not registered. */
export const clusterNotFound = (id: string): FleetError => new FleetError('CLUSTER_NOT_FOUND', 'user', `there is no cluster ${id}; register it first`);
