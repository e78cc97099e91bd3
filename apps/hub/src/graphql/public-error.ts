import { GraphQLError, type GraphQLFormattedError } from 'graphql';

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
 * Turns an execution's errors into what a caller may read: a FleetError's code and sentence, a fault of the query itself,
 * and of anything else only that the hub failed. What is hidden is logged.
 */
export function toPublicAnswer({ data, errors = [] }: FailedExecution, logger: Logger): PublicAnswer {
  const published = errors.flatMap((error) => queryFaults(error) ?? [publishOne(error, logger)]);
  const isBadQuery = errors.some((error) => queryFaults(error) !== undefined);
  return { statusCode: isBadQuery ? 400 : 200, response: { data: data ?? null, errors: published.map(withoutOriginal) } };
}

function publishOne(error: GraphQLError, logger: Logger): GraphQLError {
  const original = error.originalError ?? error;
  if (isFleetError(original)) {
    if (original.kind !== 'user') logger.warn({ code: original.code, err: original }, 'graphql call failed');
    return copyOf(error, original.kind === 'bug' ? HIDDEN : original.message, { code: original.code, kind: original.kind });
  }
  // Without an original the error is graphql-js's own about the operation, such as a variable of the wrong type.
  if (error.originalError === undefined || error.originalError === null) return copyOf(error, error.message, { code: 'QUERY_INVALID', ...error.extensions });
  const status = statusOf(original);
  if (status !== undefined && status < 500) return copyOf(error, error.message, { code: 'QUERY_INVALID' });
  logger.error({ err: original }, 'graphql call failed unexpectedly');
  return copyOf(error, HIDDEN, { code: 'INTERNAL', kind: 'bug' });
}

const HIDDEN = 'The hub failed; its log says why.';

// Mercurius wraps what is wrong with a query in one error with a list.
function queryFaults(error: GraphQLError): readonly GraphQLError[] | undefined {
  const wrapped: unknown = error.originalError ?? error;
  if (typeof wrapped !== 'object' || wrapped === null || !('errors' in wrapped) || !Array.isArray(wrapped.errors)) return undefined;
  return wrapped.errors.filter((inner): inner is GraphQLError => inner instanceof GraphQLError).map((inner) => copyOf(inner, inner.message, { code: 'QUERY_INVALID', ...inner.extensions }));
}

const statusOf = (error: Error): number | undefined => ('statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined);

const copyOf = (error: GraphQLError, message: string, extensions: GraphQLFormattedError['extensions']): GraphQLError =>
  new GraphQLError(message, { nodes: error.nodes ?? null, source: error.source ?? null, positions: error.positions ?? null, path: error.path ?? null, extensions: extensions ?? null });

const withoutOriginal = (error: GraphQLError): GraphQLError => error.toJSON() as unknown as GraphQLError;
