import { gunzipSync, gzipSync } from 'node:zlib';

import { decodeMemberBackend, encodeMemberBackend } from '#contracts/spoke-api';
import { clusterId, type GatewayPortAssignment, type MemberBackend, type MemberPart, type Protocol } from '#domain/fleet';

// Those of a part's gateway ports that are in use, as JSON rows of port, protocol and gateway port.
const GATEWAY_PORTS_COLUMN = `(SELECT jsonb_agg(jsonb_build_array(g.port, g.protocol, g.gateway_port) ORDER BY g.gateway_port) FROM gateway_ports g
  WHERE g.cluster_id = member_backends.cluster_id AND g.name = member_backends.name AND g.released_at IS NULL) AS "gatewayPorts"`;

/** Columns of member_backends that make a part. */
export const PART_COLUMNS = `cluster_id, name, body, encoding, first_seen_sequence, ${GATEWAY_PORTS_COLUMN}`;

// Below this gzip saves less than it costs.
const GZIP_FROM_BYTES = 4_096;

/** A backend as stored bytes. */
export function encodeBody(backend: MemberBackend): { readonly body: Buffer; readonly encoding: 'identity' | 'gzip' } {
  const bytes = Buffer.from(encodeMemberBackend(backend));
  return bytes.length < GZIP_FROM_BYTES ? { body: bytes, encoding: 'identity' } : { body: gzipSync(bytes, { level: 1 }), encoding: 'gzip' };
}

/** A row of {@link PART_COLUMNS} as a part. */
export function toPart(row: Readonly<Record<string, unknown>>): MemberPart {
  const body = row['body'] as Buffer;
  const bytes = row['encoding'] === 'gzip' ? gunzipSync(body) : body;
  return {
    clusterId: clusterId(String(row['cluster_id'])),
    backend: decodeMemberBackend(bytes),
    firstSeenSequence: BigInt(String(row['first_seen_sequence'])),
    gatewayPorts: toAssignments(row['gatewayPorts']),
  };
}

function toAssignments(column: unknown): readonly GatewayPortAssignment[] {
  const rows = (column ?? []) as readonly (readonly [number, Protocol, number])[];
  return rows.map(([port, protocol, gatewayPort]) => ({ port: { port, protocol }, gatewayPort }));
}
