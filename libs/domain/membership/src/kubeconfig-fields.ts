import type { Problem } from '#domain/fleet';

/** Plain data of unknown shape. */
export type PlainRecord = Readonly<Record<string, unknown>>;

/** A named part of a kubeconfig and where it stands. */
export interface KubeconfigEntry {
  readonly name: string;
  readonly path: string;
  readonly value: PlainRecord;
}

/** A field that is refused whenever it says something. */
export interface RefusedField {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

/** The value as a record, where it is one. */
export const asRecord = (value: unknown): PlainRecord | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PlainRecord) : undefined;

/** The value as a text, where it is one. */
export const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Refused fields that are set, and fields that nobody knows: the list of what is accepted is closed. */
export function fieldProblems(entry: KubeconfigEntry, accepted: readonly string[], refused: readonly RefusedField[]): readonly Problem[] {
  return Object.keys(entry.value).flatMap((field) => {
    if (accepted.includes(field) || saysNothing(entry.value[field])) return [];
    const path = `${entry.path}.${field}`;
    const rule = refused.find((candidate) => candidate.field === field);
    if (rule !== undefined) return [{ path, code: rule.code, message: rule.message }];
    return [{ path, code: 'KUBECONFIG_FIELD_UNKNOWN', message: `The field "${field}" is not accepted; leave it out. Accepted are ${accepted.join(', ')}.` }];
  });
}

const saysNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || value === false || (typeof value === 'object' && Object.keys(value).length === 0);

/** The text of a `*-data` field, decoded from base64; undefined where it is no base64 of PEM. */
export function decodePem(value: unknown): string | undefined {
  const text = asText(value)?.replace(/\s+/g, '') ?? '';
  if (text === '' || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const pem = atob(text);
  return /-----BEGIN [A-Z0-9 ]+-----[\s\S]+-----END [A-Z0-9 ]+-----/.test(pem) ? pem : undefined;
}
