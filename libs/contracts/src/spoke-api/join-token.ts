import { type ClusterId, clusterId, isRfc1123Label } from '#domain/fleet';

/** What a join token carries: all that a spoke needs for a trusted first call. */
export interface JoinToken {
  readonly hubUrl: string;
  /** SHA-256 of the hub CA's DER certificate, 64 hex digits. */
  readonly caFingerprint: string;
  readonly clusterId: ClusterId;
  /** Random, base64url; the hub keeps only its hash. */
  readonly secret: string;
}

const PREFIX = 'spw1.';

/** Renders a join token as one string: `spw1.` and base64url JSON. */
export function encodeJoinToken(token: JoinToken): string {
  const fields = { u: token.hubUrl, f: token.caFingerprint, c: token.clusterId, s: token.secret };
  return PREFIX + Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** The token in a text, or undefined where it is none: another version, cut off, or with a field that cannot be. */
export function parseJoinToken(text: string): JoinToken | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith(PREFIX)) return undefined;
  const fields = parseFields(trimmed.slice(PREFIX.length));
  if (fields === undefined) return undefined;
  const { u: hubUrl = '', f: caFingerprint = '', c: cluster = '', s: secret = '' } = fields;
  if (!isHttpsUrl(hubUrl) || !/^[0-9a-f]{64}$/.test(caFingerprint)) return undefined;
  if (!isRfc1123Label(cluster) || !/^[A-Za-z0-9_-]{20,200}$/.test(secret)) return undefined;
  return { hubUrl, caFingerprint, clusterId: clusterId(cluster), secret };
}

function parseFields(encoded: string): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch {
    return undefined;
  }
}

function isHttpsUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}
