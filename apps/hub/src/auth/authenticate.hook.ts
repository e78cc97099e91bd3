import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { isFleetError } from '#domain/fleet';

import type { AccessTokens, Principal } from './access-tokens.js';
import type { FailureLimit } from './failure-limit.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set before any GraphQL is looked at. */
    principal: Principal | undefined;
  }
}

/** Path of the API. */
export const GRAPHQL_PATH = '/graphql';

/** Routes that anybody may call: health, metrics, and the query editor's own files where it is served at all. */
const PUBLIC_ROUTES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', '/graphiql', '/graphiql/main.js', '/graphiql/sw.js', '/graphiql/config.js']);

/** What calls are judged by, and who is told of those that proved who they are. */
interface Guard {
  readonly tokens: AccessTokens;
  readonly failures: FailureLimit;
  readonly onAuthenticated: (request: FastifyRequest) => void;
}

/** Makes every call but those of the public routes prove who it is, before its body is read. */
export function guardRoutes(app: FastifyInstance, guard: Guard): void {
  const { failures } = guard;
  app.decorateRequest('principal', undefined);
  app.addHook('onRequest', async (request, reply) => {
    // The route that was matched, not the URL's text: a router knows more spellings of a path than a comparison does.
    const route = request.routeOptions.url;
    if (route === undefined || PUBLIC_ROUTES.has(route)) return;
    const waitMs = failures.waitMs(request.ip);
    if (waitMs > 0 && !failures.isTrusted(request.ip)) return refuseForNow(reply, waitMs);
    return authenticate(request, reply, guard);
  });
}

async function refuseForNow(reply: FastifyReply, waitMs: number): Promise<FastifyReply> {
  reply.header('retry-after', Math.ceil(waitMs / 1_000));
  return refuse(reply, 429, 'AUTH_TOO_MANY_FAILURES', 'Too many calls with a wrong token came from this address; wait, then send the right one.');
}

async function authenticate(request: FastifyRequest, reply: FastifyReply, { tokens, failures, onAuthenticated }: Guard): Promise<FastifyReply | undefined> {
  try {
    request.principal = tokens.authenticate(request.headers.authorization);
    failures.trust(request.ip);
    onAuthenticated(request);
    return undefined;
  } catch (error) {
    if (!isFleetError(error)) throw error;
    const waitMs = failures.waitMs(request.ip);
    if (waitMs > 0) return refuseForNow(reply, waitMs);
    // A call without any token is a mistake and no attempt.
    if (error.code === 'AUTH_INVALID') failures.record(request.ip);
    return refuse(reply, 401, error.code, error.message);
  }
}

async function refuse(reply: FastifyReply, status: number, code: string, message: string): Promise<FastifyReply> {
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="spillway"');
  return reply.code(status).send({ data: null, errors: [{ message, extensions: { code } }] });
}
