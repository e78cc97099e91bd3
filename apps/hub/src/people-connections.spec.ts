import 'reflect-metadata';

import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Registry } from 'prom-client';

import type { FleetView } from '#domain/fleet';
import { createLogger, Secret } from '#platform';
import { FakeClock, FakeFleetStore } from '#testing';

import { openAccessTokens } from './auth/access-tokens.js';
import { createPeopleApp } from './people-app.js';

const VIEWER = 'viewer-token-of-the-test';
const EMPTY: FleetView = { members: new Map(), parts: new Map(), policies: [], freeze: undefined };

let app: NestFastifyApplication;
let registry: Registry;
let port: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  const clock = new FakeClock();
  const store = new FakeFleetStore(clock);
  const { tokens } = await openAccessTokens(store.hubState, { admin: undefined, viewer: new Secret(VIEWER) });
  registry = new Registry();
  const views = { current: () => ({ epoch: 'e', sequence: 0n, view: EMPTY }), catchUp: async () => undefined };
  app = await createPeopleApp({
    core: { store, views, clock, settings: { publicUrl: 'https://hub.example:8443', allowLocalClusters: false, graphiql: false } },
    tokens,
    logger: createLogger({ app: 'hub', level: 'silent' }),
    registry,
    readiness: {},
    limits: { strangersPerSourceMax: 10, strangerMs: 1_000 },
  });
  await app.listen(0, '127.0.0.1');
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

function open(): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

const call = (token: string, body: string, length = body.length): string => `POST /graphql HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
const QUERY = '{"query":"{ __typename }"}';

async function answer(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString('utf8').split('\r\n')[0] ?? '';
}

it('a flood of connections from one address leaves who has shown a token its connection, and lets others in', async () => {
  const member = open();
  member.write(call(VIEWER, QUERY));
  expect(await answer(member)).toBe('HTTP/1.1 200 OK');
  const flood = Array.from({ length: 100 }, open);
  await Promise.all(flood.slice(0, 50).map(async (socket) => (socket.closed ? undefined : once(socket.resume(), 'close'))));
  member.write(call(VIEWER, QUERY));
  expect(await answer(member)).toBe('HTTP/1.1 200 OK');
  const other = open();
  other.write(call(VIEWER, QUERY));
  expect(await answer(other)).toBe('HTTP/1.1 200 OK');
  expect(await registry.metrics()).toMatch(/spillway_hub_people_ended_connections_total\{reason="gave-way"\} (8|9)\d/);
});

it('a connection that shows no token is ended, whatever it asks', async () => {
  const stranger = open();
  stranger.write('GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n');
  expect(await answer(stranger)).toBe('HTTP/1.1 200 OK');
  await once(stranger.resume(), 'close');
  expect(await registry.metrics()).toContain('spillway_hub_people_ended_connections_total{reason="proved-nothing"} 1');
});
