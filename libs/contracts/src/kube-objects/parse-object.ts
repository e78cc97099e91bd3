import { z } from 'zod';

import type { Problem } from '#domain/fleet';
import type { Condition, LabelSelector, ObjectMeta } from '#domain/gateway-api';

/** A parsed object, or what is wrong with it: one bad object never stops the others (C37). */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** Makes a parser of one kind from its schema. */
export function objectParser<T>(kind: string, schema: z.ZodType<T>): (raw: unknown) => Parsed<T> {
  return (raw) => {
    const result = schema.safeParse(raw);
    if (result.success) return { ok: true, value: result.data };
    const details = result.error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'object'}: ${message}`).join('; ');
    return {
      ok: false,
      problem: { path: `${kind} ${nameOf(raw)}`, code: 'KUBE_OBJECT_UNREADABLE', message: `${kind} ${nameOf(raw)} is left out, since it cannot be read: ${details}` },
    };
  };
}

/** Parses every object, the bad ones into problems. */
export function parseObjects<T>(parse: (raw: unknown) => Parsed<T>, raws: readonly unknown[]): { readonly values: readonly T[]; readonly problems: readonly Problem[] } {
  const values: T[] = [];
  const problems: Problem[] = [];
  for (const parsed of raws.map(parse)) {
    if (parsed.ok) values.push(parsed.value);
    else problems.push(parsed.problem);
  }
  return { values, problems };
}

/** A field that may be absent or null, as Go writes empty ones. */
export const orElse = <T extends z.ZodType>(schema: T, fallback: z.output<T>): z.ZodType<z.output<T>> =>
  schema.nullish().transform((value) => value ?? fallback);

/** A text that may be absent. */
export const text = orElse(z.string(), '');
/** A list that may be absent. */
export const listOf = <T extends z.ZodType>(schema: T): z.ZodType<readonly z.output<T>[]> => orElse(z.array(schema), []);
/** Labels. */
export const labels = orElse(z.record(z.string(), z.string()), {});
/** An optional field that null leaves out, too. */
export const optional = <T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined> => schema.nullish().transform((value) => value ?? undefined);
/** A port number. */
export const portNumber = z.number().int().min(1).max(65_535);

const rawMeta = z.object({
  name: z.string().min(1),
  namespace: text,
  uid: text,
  resourceVersion: text,
  generation: orElse(z.number().int(), 0),
  creationTimestamp: text,
  deletionTimestamp: text,
  finalizers: listOf(z.string()),
});

/** Metadata, trimmed. */
export const meta: z.ZodType<ObjectMeta> = rawMeta.transform((raw) => ({
  namespace: raw.namespace,
  name: raw.name,
  uid: raw.uid,
  resourceVersion: raw.resourceVersion,
  generation: raw.generation,
  createdAtMs: parseTime(raw.creationTimestamp),
  isDeleting: raw.deletionTimestamp !== '',
  finalizers: raw.finalizers,
}));

/** Conditions as they stand. Fields that we do not know stay in, since others' entries are written back as they were. */
export const conditions: z.ZodType<readonly Condition[]> = listOf(
  z.looseObject({
    type: z.string(),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: text,
    message: text,
    observedGeneration: z.number().optional(),
    lastTransitionTime: text,
  }),
);

/** A label selector. */
export const labelSelector: z.ZodType<LabelSelector> = z.object({
  matchLabels: labels,
  matchExpressions: listOf(
    z.object({ key: z.string().min(1), operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']), values: listOf(z.string()) }),
  ),
});

/** Milliseconds of an RFC 3339 time; 0 where there is none. */
function parseTime(value: string): number {
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? 0 : ms;
}

function nameOf(raw: unknown): string {
  const found = z.object({ metadata: z.object({ namespace: z.string().optional(), name: z.string() }) }).safeParse(raw);
  if (!found.success) return '(without a name)';
  const { namespace, name } = found.data.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}
