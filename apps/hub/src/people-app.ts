import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

import { notReadyReasons, PeerDoor, peerKeyOf, type Logger, type PeerDoorLimits, type ReadinessCheck } from '#platform';

import { AppModule } from './app.module.js';
import type { AccessTokens } from './auth/access-tokens.js';
import { guardRoutes } from './auth/authenticate.hook.js';
import { FailureLimit } from './auth/failure-limit.js';
import type { HubCore } from './core/core.module.js';
import { NestLogger } from './core/nest-logger.js';
import { QUERY_LENGTH_MAX } from './graphql/query-limits.js';

/** The largest body of a GraphQL call: a kubeconfig and what is around it. */
const GRAPHQL_BODY_BYTES_MAX = 512 * 1024;

/**
 * Connections of people, of their tools, and of an ingress that brings many of them; who only asks for health or metrics stays
 * a stranger, and connects anew each minute at the latest.
 */
const PEOPLE_DOOR: PeerDoorLimits = { connectionsMax: 5_000, connectionsPerSourceMax: 1_000, strangersPerSourceMax: 128, strangerMs: 60_000 };

/** How long a call may take to arrive, whatever its bytes do. */
const REQUEST_TIMEOUT_MS = 30_000;

/** What the people listener is made of. */
export interface PeopleAppOptions {
  readonly core: HubCore;
  readonly tokens: AccessTokens;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
  readonly limits?: Partial<PeerDoorLimits>;
}

/** The listener for people: GraphQL, health, readiness and metrics over HTTP/1.1. Not listening yet. */
export async function createPeopleApp({ core, tokens, logger, registry, readiness, limits }: PeopleAppOptions): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({ bodyLimit: GRAPHQL_BODY_BYTES_MAX, requestTimeout: REQUEST_TIMEOUT_MS, forceCloseConnections: true });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.over(core, logger), adapter, { logger: new NestLogger(logger), abortOnError: false });
  const fastify = adapter.getInstance<FastifyInstance>();
  const door = new PeerDoor({ ...PEOPLE_DOOR, ...limits });
  door.register(registry, 'spillway_hub_people');
  fastify.server.on('connection', (socket) => door.letIn(socket));
  guardRoutes(fastify, { tokens, failures: new FailureLimit(core.clock), onAuthenticated: (request) => door.admit(peerKeyOf(request.socket)) });
  limitQueryLength(fastify);
  measureRequests(fastify, registry);
  serveOperations(fastify, registry, readiness);
  await app.init();
  await fastify.ready();
  return app;
}

function limitQueryLength(fastify: FastifyInstance): void {
  fastify.addHook('preValidation', async (request, reply) => {
    const query: unknown = isRecord(request.body) ? request.body['query'] : isRecord(request.query) ? request.query['query'] : undefined;
    if (typeof query !== 'string' || query.length <= QUERY_LENGTH_MAX) return;
    const message = `The operation has ${query.length} characters; at most ${QUERY_LENGTH_MAX} are read. Send values as variables.`;
    await reply.code(400).send({ data: null, errors: [{ message, extensions: { code: 'QUERY_TOO_LONG' } }] });
  });
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

function measureRequests(fastify: FastifyInstance, registry: Registry): void {
  const seconds = new Histogram({
    name: 'spillway_hub_http_request_seconds',
    help: 'Time to answer a call on the people listener.',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
    registers: [registry],
  });
  fastify.addHook('onResponse', async (request, reply) => {
    seconds.observe({ route: request.routeOptions.url ?? 'unknown', status: reply.statusCode }, reply.elapsedTime / 1_000);
  });
}

function serveOperations(fastify: FastifyInstance, registry: Registry, readiness: Readonly<Record<string, ReadinessCheck>>): void {
  fastify.get('/healthz', async () => 'ok\n');
  fastify.get('/readyz', async (_request, reply) => {
    const reasons = notReadyReasons(readiness);
    return reply.code(reasons.length === 0 ? 200 : 503).send(reasons.length === 0 ? 'ok\n' : `${reasons.join('\n')}\n`);
  });
  fastify.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}
