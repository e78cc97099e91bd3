import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';

import { FleetError, type BackendName, type ClusterId } from '#domain/fleet';
import { z } from 'zod';

import type { ImportState, ToldResource } from '../hub/import-state.js';

/** The largest chunk of a saved state: a ConfigMap holds at most 1 MiB. */
const CHUNK_BYTES_MAX = 800 * 1024;
/** The largest saved state, unpacked. */
const STATE_BYTES_MAX = 256 * 1024 * 1024;

const FORMAT = 1;

const protocol = z.enum(['TCP', 'UDP']);
const backendName = z.string().transform((text) => text as BackendName);
const clusterId = z.string().transform((text) => text as ClusterId);
const portSchema = z.object({ port: z.number().int(), protocol });
const endpointSchema = z.object({
  address: z.string(),
  targetPorts: z.array(z.number().int()),
  ready: z.boolean(),
  serving: z.boolean(),
  terminating: z.boolean(),
  zone: z.string(),
  node: z.string(),
});
const providerSchema = z.object({
  clusterId,
  locality: z.object({ region: z.string(), zone: z.string() }),
  path: z.enum(['direct', 'gateway']),
  endpoints: z.array(endpointSchema),
  ports: z.array(portSchema),
  readyAssumed: z.number().int(),
});
const backendSchema = z.object({
  name: backendName,
  trafficClass: z.enum(['endpoints', 'inference-pool', 'external']),
  sessionAffinity: z.enum(['None', 'ClientIP', 'Cluster']),
  providers: z.array(providerSchema),
  ports: z.array(z.object({ port: portSchema, shares: z.array(z.object({ clusterId, shareBp: z.number().int() })) })),
  conflicts: z.array(z.object({ field: z.enum(['trafficClass', 'workUnit', 'portProtocol', 'sessionAffinity']), winner: clusterId, losers: z.array(clusterId), message: z.string() })),
  refusals: z.array(z.string()),
  memberCount: z.number().int(),
  servingCount: z.number().int(),
});
const pathsSchema = z.object({
  intake: z.object({
    openings: z.array(z.object({ gatewayPort: z.number().int(), backend: backendName, port: portSchema, callers: z.array(clusterId) })),
    callers: z.array(z.object({ clusterId, addresses: z.array(z.string()) })),
  }),
  peers: z.array(z.object({ clusterId, path: z.enum(['direct', 'gateway']), addresses: z.array(z.string()), port: z.number().int() })),
});

const stateSchema = z.object({
  format: z.literal(FORMAT),
  consumer: clusterId.optional(),
  cursor: z.object({ epoch: z.string(), sequence: z.string().regex(/^\d+$/), mark: z.string().default('') }).optional(),
  complete: z.boolean(),
  resources: z.array(z.object({ name: z.string(), version: z.string(), backend: backendSchema })),
  /** Absent in what an older version saved. */
  paths: pathsSchema.optional(),
  firstSeen: z.array(z.object({ name: backendName, place: z.string().regex(/^\d+$/), epoch: z.string() })).default([]),
});

/** The index that makes chunks one state. */
export const indexSchema = z.object({ format: z.literal(FORMAT), sha256: z.string(), savedAtMs: z.number(), chunks: z.array(z.string()).max(99) });

/** An index as written. */
export type LastGoodIndex = z.infer<typeof indexSchema>;

/** A packed state. */
export interface PackedState {
  readonly sha256: string;
  readonly chunks: readonly Buffer[];
}

/** Packs a state that holds nothing back (see restartableState). */
export async function packState(state: ImportState): Promise<PackedState> {
  const resources = [...state.told].map(([name, resource]) => ({ name, ...resource }));
  const cursor = state.cursor === undefined ? undefined : { ...state.cursor, sequence: state.cursor.sequence.toString() };
  const firstSeen = [...state.firstSeen].map(([name, { place, epoch }]) => ({ name, place: place.toString(), epoch }));
  const packed = await promisify(gzip)(JSON.stringify({ format: FORMAT, consumer: state.consumer, cursor, complete: state.complete, resources, paths: state.paths, firstSeen }));
  const chunks: Buffer[] = [];
  for (let at = 0; at < packed.length; at += CHUNK_BYTES_MAX) chunks.push(packed.subarray(at, at + CHUNK_BYTES_MAX));
  return { sha256: sha256(packed), chunks };
}

/** Whether chunks are, to the byte, those that an index was written for. */
export const isPackedAs = (index: LastGoodIndex, chunks: readonly Buffer[]): boolean => sha256(Buffer.concat(chunks)) === index.sha256;

/** Unpacks a state; throws LAST_GOOD_CORRUPT where it is not, to the byte, what was saved. */
export async function unpackState(index: LastGoodIndex, chunks: readonly Buffer[]): Promise<ImportState> {
  if (!isPackedAs(index, chunks)) throw corrupt('its digest differs from the index');
  try {
    const parsed = stateSchema.parse(JSON.parse((await promisify(gunzip)(Buffer.concat(chunks), { maxOutputLength: STATE_BYTES_MAX })).toString('utf8')));
    const told = new Map<string, ToldResource>(parsed.resources.map(({ name, version, backend }) => [name, { version, backend }]));
    const cursor = parsed.cursor === undefined ? undefined : { ...parsed.cursor, sequence: BigInt(parsed.cursor.sequence) };
    const firstSeen = new Map(parsed.firstSeen.map(({ name, place, epoch }) => [name, { place: BigInt(place), epoch }]));
    return { consumer: parsed.consumer, cursor, told, paths: parsed.paths, complete: parsed.complete, held: undefined, firstSeen };
  } catch (error) {
    throw corrupt('it does not read as a state of this version', error);
  }
}

/** The error of a saved state that cannot be used. */
export function corrupt(why: string, cause?: unknown): FleetError {
  return new FleetError('LAST_GOOD_CORRUPT', 'user', `The saved last good state is not used: ${why}. It is replaced at the next sync with the hub; until then only this cluster's own endpoints serve.`, { cause });
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
