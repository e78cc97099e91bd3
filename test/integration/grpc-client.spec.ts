import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { startXdsServer, type XdsServer } from '#adapters/xds-grpc';
import { clusterId } from '#domain/fleet';
import type { PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { renderXdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, SystemClock } from '#platform';

const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
const NAME = 'model.ai.gw.cluster.local:80';

/** A fleet backend with one endpoint per cluster on loopback: who answers says its cluster. */
const backend = (shares: Readonly<Record<string, number>>, ports: Readonly<Record<string, number>>): PlannedBackend => ({
  id: MODEL,
  protocol: 'TCP',
  affinity: undefined,
  trafficDistribution: 'None',
  providers: Object.entries(shares).map(([cluster, shareBp]) => ({
    clusterId: clusterId(cluster),
    locality: { region: cluster, zone: '' },
    path: 'direct',
    shareBp,
    endpoints: [{ address: '127.0.0.1', port: ports[cluster] ?? 0, state: 'ready', zone: '', node: '', hostname: '' }],
  })),
});

const planOf = (planned: PlannedBackend, rejectWeight = 0): RoutingPlan => ({
  frontends: [
    { kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: ['172.30.0.41'], dnsNames: ['model.ai.gw.cluster.local'], listeners: [{ name: 'grpc', port: 80, protocol: 'TCP', uses: [{ backend: MODEL, weight: 1 }], rejectWeight }] },
  ],
  backends: [planned],
  gatewayPorts: [],
});

describe('a gRPC client that speaks xDS', () => {
  const backends: Server[] = [];
  const ports: Record<string, number> = {};
  let xds: XdsServer;
  let child: ChildProcessWithoutNullStreams;
  let lines: Interface;

  beforeAll(async () => {
    for (const cluster of ['east-1', 'west-1']) ports[cluster] = await startBackend(cluster);
    xds = await startXdsServer({ host: '127.0.0.1', port: 0, tls: undefined, authenticate: async () => ({ ok: true, identity: 'test' }), clock: new SystemClock(), logger: createLogger({ app: 'test', level: 'silent' }), registry: new Registry() });
    const bootstrap = { xds_servers: [{ server_uri: `dns:///127.0.0.1:${xds.port}`, channel_creds: [{ type: 'insecure' }], server_features: ['xds_v3'] }], node: { id: 'client-1', cluster: 'east-1', locality: { region: 'east-1', zone: '' } } };
    child = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'grpc/grpc-caller.ts')], { stdio: 'pipe', env: { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) } });
    lines = createInterface({ input: child.stdout });
    await once(lines, 'line');
  }, 30_000);
  afterAll(async () => {
    child.stdin.end();
    await once(child, 'close');
    await xds.close();
    for (const server of backends) server.forceShutdown();
  });

  async function startBackend(cluster: string): Promise<number> {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const server = new Server();
    server.addService({ who: { path: '/test.Echo/Who', requestStream: false, responseStream: false, requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs } }, {
      who: (_: unknown, answer: (error: null, value: Buffer) => void) => answer(null, Buffer.from(cluster)),
    });
    backends.push(server);
    return new Promise((resolve, reject) => server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error === null ? resolve(port) : reject(error))));
  }

  async function call(count: number, name = NAME): Promise<Readonly<Record<string, number>>> {
    const answer = once(lines, 'line');
    child.stdin.write(`${JSON.stringify({ name, count })}\n`);
    const [line] = (await answer) as [string];
    return JSON.parse(line) as Record<string, number>;
  }

  /** Calls until the outcome is as wanted; what the client was told takes its time to arrive. */
  async function callUntil(isWanted: (counts: Readonly<Record<string, number>>) => boolean): Promise<Readonly<Record<string, number>>> {
    for (let round = 1; ; round += 1) {
      const counts = await call(20);
      if (isWanted(counts) || round === 200) return counts;
    }
  }

  // 4.5 standard deviations: a right client fails one run in a hundred thousand.
  const expectShare = (counts: Readonly<Record<string, number>>, who: string, share: number): void => {
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    expect(Math.abs((counts[who] ?? 0) - total * share)).toBeLessThan(4.5 * Math.sqrt(total * share * (1 - share)) + 1);
  };

  it('calls a CompositeBackend by its Gateway’s name, in the shares of the plan, over every cluster', async () => {
    xds.setSnapshot(renderXdsSnapshot(planOf(backend({ 'east-1': 7_000, 'west-1': 3_000 }, ports))));
    await callUntil((counts) => Object.keys(counts).length === 2);
    const counts = await call(1_000);
    expect(Object.keys(counts).sort()).toEqual(['east-1', 'west-1']);
    expectShare(counts, 'east-1', 0.7);
  }, 60_000);

  it('follows a change of shares, and of who is there at all', async () => {
    xds.setSnapshot(renderXdsSnapshot(planOf(backend({ 'east-1': 1_000, 'west-1': 9_000 }, ports))));
    await callUntil((counts) => (counts['west-1'] ?? 0) > 14);
    expectShare(await call(1_000), 'east-1', 0.1);
    xds.setSnapshot(renderXdsSnapshot(planOf(backend({ 'east-1': 10_000, 'west-1': 0 }, ports))));
    await callUntil((counts) => counts['west-1'] === undefined);
    expect(await call(200)).toEqual({ 'east-1': 200 });
  }, 60_000);

  it('is refused the part of its calls that leads nowhere', async () => {
    xds.setSnapshot(renderXdsSnapshot(planOf(backend({ 'east-1': 10_000 }, ports), 1)));
    await callUntil((counts) => counts['failed UNAVAILABLE'] !== undefined);
    const counts = await call(400);
    expect(Object.keys(counts).sort()).toEqual(['east-1', 'failed UNAVAILABLE']);
    expectShare(counts, 'east-1', 0.5);
  }, 60_000);
});
