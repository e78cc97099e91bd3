import { gunzipSync, gzipSync } from 'node:zlib';

import { decodeMemberBackend, encodeMemberBackend } from '#contracts/spoke-api';
import { clusterId, type MemberBackend, type MemberPart } from '#domain/fleet';

/** Columns of member_backends that make a part. */
export const PART_COLUMNS = 'cluster_id, name, body, encoding, first_seen_sequence';

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
  return { clusterId: clusterId(String(row['cluster_id'])), backend: decodeMemberBackend(bytes), firstSeenSequence: BigInt(String(row['first_seen_sequence'])) };
}
