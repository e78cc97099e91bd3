import { GraphQLError, type GraphQLErrorExtensions } from 'graphql';

import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';

/** An execution as Mercurius hands it to its error formatter. */
export interface FailedExecution {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly GraphQLError[];
}

/** What goes out over HTTP. */
export interface PublicAnswer {
  readonly statusCode: number;
  readonly response: { readonly data: Record<string, unknown> | null; readonly errors: GraphQLError[] };
}

/**
 * Turns an execution's errors into what a caller may read: a FleetError's code and sentence, a fault of the call itself,
 * and of anything else only that the hub failed. What is hidden is logged.
 */
export function toPublicAnswer({ data, errors = [] }: FailedExecution, logger: Logger): PublicAnswer {
  const published = errors.flatMap((error) => publish(error, logger));
  const refusal = errors.map(callFaultStatus).find((status) => status !== undefined);
  return { statusCode: refusal ?? 200, response: { data: data ?? null, errors: published.map((error) => error.toJSON() as unknown as GraphQLError) } };
}

const HIDDEN = 'The hub failed; its log says why.';

function publish(error: GraphQLError, logger: Logger): readonly GraphQLError[] {
  const original = originalOf(error);
  // Without an original the error is graphql-js's own about the operation, such as a variable of the wrong type.
  if (original === undefined) return [copyOf(error, error.message, { code: 'QUERY_INVALID', ...error.extensions })];
  if (isFleetError(original)) {
    if (original.kind !== 'user') logger.warn({ code: original.code, err: original }, 'graphql call failed');
    return [copyOf(error, original.kind === 'bug' ? HIDDEN : original.message, { code: original.code, kind: original.kind })];
  }
  if (callFaultStatus(error) !== undefined) return callFaults(error, original);
  logger.error({ err: original }, 'graphql call failed unexpectedly');
  return [copyOf(error, HIDDEN, { code: 'INTERNAL', kind: 'bug' })];
}

// Mercurius wraps what is wrong with a call in one error that has a list.
function callFaults(error: GraphQLError, original: object): readonly GraphQLError[] {
  const inner = 'errors' in original && Array.isArray(original.errors) ? (original.errors as readonly unknown[]) : [];
  if (inner.length === 0) return [copyOf(error, error.message, { code: 'QUERY_INVALID' })];
  return inner.map((fault) => (fault instanceof GraphQLError ? copyOf(fault, fault.message, { code: 'QUERY_INVALID', ...fault.extensions }) : copyOf(error, fault instanceof Error ? fault.message : error.message, { code: 'QUERY_INVALID' })));
}

/** The HTTP status of an error that the call itself is at fault for. */
function callFaultStatus(error: GraphQLError): number | undefined {
  const original = originalOf(error);
  if (original === undefined || isFleetError(original) || !('statusCode' in original)) return undefined;
  return typeof original.statusCode === 'number' && original.statusCode >= 400 && original.statusCode < 500 ? original.statusCode : undefined;
}

// An error that is thrown before execution arrives as it is, whatever its type says.
const originalOf = (error: GraphQLError): Error | undefined => (error instanceof GraphQLError ? (error.originalError ?? undefined) : error);

const copyOf = (error: GraphQLError, message: string, extensions: GraphQLErrorExtensions): GraphQLError =>
  new GraphQLError(message, { nodes: error.nodes ?? null, source: error.source ?? null, positions: error.positions ?? null, path: error.path ?? null, extensions });
