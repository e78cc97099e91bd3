import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from 'dns-packet';
import { Registry } from 'prom-client';

import { startXdsServer, type XdsServer } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL } from '#contracts/envoy';
import { clusterId } from '#domain/fleet';
import type { Frontend, PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { renderXdsSnapshot } from '#domain/xds-snapshot';
import { ConfigError, createLogger, SystemClock } from '#platform';
import { until } from '#testing';

import { startDnsRole, type DnsRole } from './dns-role.js';

const logger = createLogger({ app: 'test', level: 'silent' });
const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
const DB = 'import:shop/db/5432/TCP' as PlannedBackendId;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const frontend = (address: string): Frontend => ({
  kind: 'gateway',
  callers: undefined,
  isHeadless: false,
  namespace: 'ai',
  name: 'model',
  addresses: [address],
  dnsNames: ['model.ai.gw.cluster.local'],
  listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: MODEL, weight: 1 }], rejectWeight: 0 }],
});
const backend = (id: PlannedBackendId, addresses: readonly string[]): PlannedBackend => ({
  id,
  protocol: 'TCP',
  affinity: undefined,
  trafficDistribution: 'None',
  providers: [{ clusterId: clusterId('east'), locality: { region: '', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: addresses.map((address) => ({ address, port: 5_432, state: 'ready', zone: '', node: '', hostname: '' })) }],
});
/** The Gateway of {@link snapshotOf}, and a headless import with these endpoints. */
const headlessPlan = (addresses: readonly string[]): RoutingPlan => ({
  frontends: [
    frontend('172.30.0.41'),
    { ...frontend(''), kind: 'service-import', isHeadless: true, namespace: 'shop', name: 'db', addresses: [], dnsNames: ['db.shop.svc.clusterset.local'], listeners: [{ name: 'sql', port: 5_432, protocol: 'TCP', uses: [{ backend: DB, weight: 1 }], rejectWeight: 0 }] },
  ],
  backends: [backend(MODEL, ['10.9.0.1']), backend(DB, addresses)],
  gatewayPorts: [],
});
const snapshotOf = (address: string) => renderXdsSnapshot({ frontends: [frontend(address)], backends: [{ id: MODEL, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [] }], gatewayPorts: [] });

async function startController(port = 0): Promise<XdsServer> {
  const server = await startXdsServer({ host: '127.0.0.1', port, tls: undefined, authenticate: async () => ({ ok: true, identity: 'dns' }), clock: new SystemClock(), logger, registry: new Registry() });
  cleanups.push(() => server.close());
  return server;
}

async function startRole(controllerPort: number, env: Record<string, string> = {}): Promise<DnsRole> {
  const role = await startDnsRole(
    {
      SPILLWAY_POD_NAME: 'dns-1',
      SPILLWAY_DNS_HOST: '127.0.0.1',
      SPILLWAY_DNS_PORT: '0',
      SPILLWAY_OPS_HOST: '127.0.0.1',
      SPILLWAY_OPS_PORT: '0',
      SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: '127.0.0.1',
      SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: String(controllerPort),
      SPILLWAY_DNS_STOP_DELAY_MS: '0',
      ...env,
    },
    { logger, usesTls: false },
  );
  cleanups.push(() => role.stop());
  return role;
}

async function ask(role: DnsRole, name = 'model.ai.gw.cluster.local'): Promise<string> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('message', (bytes) => {
      const response = decode(bytes) as ReturnType<typeof decode> & { readonly rcode: string };
      socket.close(() => resolve([response.rcode, ...(response.answers ?? []).map((record) => 'data' in record && typeof record.data === 'string' ? record.data : record.type)].join(' ')));
    });
    socket.send(encode({ id: 1, questions: [{ name, type: 'A' }] }), role.dnsPort, '127.0.0.1');
  });
}

async function untilAcked(server: XdsServer): Promise<void> {
  const resources = snapshotOf('any').clusters.map(({ name }) => name);
  const isAcked = (): boolean => resources.every((name) => server.acknowledgements.status('dns-1', CLUSTER_TYPE_URL, name).kind === 'acked');
  if (isAcked()) return;
  await new Promise<void>((resolve) => {
    const stop = server.acknowledgements.onChange(() => {
      if (!isAcked()) return;
      stop();
      resolve();
    });
  });
}

const readiness = async (role: DnsRole): Promise<number> => (await fetch(`${role.opsUrl}/readyz`)).status;

describe('the dns role', () => {
  it('answers SERVFAIL and is not ready until it has synced, then answers and acknowledges', async () => {
    const controller = await startController();
    const role = await startRole(controller.port);
    expect(await ask(role)).toBe('SERVFAIL');
    expect(await ask(role, 'unknown.ai.gw.cluster.local')).toBe('SERVFAIL');
    expect(await readiness(role)).toBe(503);
    controller.setSnapshot(snapshotOf('172.30.0.41'));
    await untilAcked(controller);
    expect(await ask(role)).toBe('NOERROR 172.30.0.41');
    expect(await ask(role, 'unknown.ai.gw.cluster.local')).toBe('NXDOMAIN');
    expect(await readiness(role)).toBe(200);
  });

  it('follows changes', async () => {
    const controller = await startController();
    controller.setSnapshot(snapshotOf('172.30.0.41'));
    const role = await startRole(controller.port);
    await untilAcked(controller);
    controller.setSnapshot(snapshotOf('172.30.0.42'));
    await untilAcked(controller);
    expect(await ask(role)).toBe('NOERROR 172.30.0.42');
  });

  it('asks for the endpoints of headless frontends alone, and follows them', async () => {
    const controller = await startController();
    controller.setSnapshot(renderXdsSnapshot(headlessPlan(['10.1.0.1', '10.1.0.2'])));
    const role = await startRole(controller.port);
    await untilAcked(controller);
    expect(await ask(role, 'db.shop.svc.clusterset.local')).toMatch(/^NOERROR (10\.1\.0\.1 10\.1\.0\.2|10\.1\.0\.2 10\.1\.0\.1)$/);
    const status = (id: string): string => controller.acknowledgements.status('dns-1', LOAD_ASSIGNMENT_TYPE_URL, id).kind;
    expect([status(DB), status(MODEL)]).toEqual(['acked', 'unknown']);
    controller.setSnapshot(renderXdsSnapshot(headlessPlan(['10.1.0.2'])));
    await until('the endpoint is gone', async () => (await ask(role, 'db.shop.svc.clusterset.local')) === 'NOERROR 10.1.0.2');
    controller.setSnapshot(renderXdsSnapshot(headlessPlan([])));
    await until('the name is gone', async () => (await ask(role, 'db.shop.svc.clusterset.local')) === 'NXDOMAIN');
    expect(await ask(role)).toBe('NOERROR 172.30.0.41');
  });

  it('denies no name while the controller is away, and denies it again when it is back', async () => {
    const controller = await startController();
    controller.setSnapshot(snapshotOf('172.30.0.41'));
    const role = await startRole(controller.port);
    await untilAcked(controller);
    expect(await ask(role, 'new.ai.gw.cluster.local')).toBe('NXDOMAIN');
    await controller.close();
    await until('the role knows', async () => (await ask(role, 'new.ai.gw.cluster.local')) === 'SERVFAIL');
    expect([await ask(role), await ask(role, 'new.shop.svc.clusterset.local')]).toEqual(['NOERROR 172.30.0.41', 'SERVFAIL']);
    const back = await startController(controller.port);
    back.setSnapshot(snapshotOf('172.30.0.41'));
    await until('the role knows again', async () => (await ask(role, 'new.ai.gw.cluster.local')) === 'NXDOMAIN');
  });

  it('goes on answering while the controller is away, and follows it when it is back', async () => {
    const controller = await startController();
    controller.setSnapshot(snapshotOf('172.30.0.41'));
    const role = await startRole(controller.port);
    await untilAcked(controller);
    await controller.close();
    expect(await ask(role)).toBe('NOERROR 172.30.0.41');
    expect(await readiness(role)).toBe(200);
    const back = await startController(controller.port);
    back.setSnapshot(snapshotOf('172.30.0.43'));
    await untilAcked(back);
    expect(await ask(role)).toBe('NOERROR 172.30.0.43');
  });

  it('answers from the last good zone after a restart without a controller', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-dns-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const env = { SPILLWAY_DNS_LAST_GOOD_FILE: join(folder, 'zone.json') };
    const controller = await startController();
    controller.setSnapshot(renderXdsSnapshot(headlessPlan(['10.1.0.1'])));
    const first = await startRole(controller.port, env);
    await untilAcked(controller);
    await first.stop();
    cleanups.pop();
    await controller.close();
    const second = await startRole(controller.port, env);
    expect(await ask(second)).toBe('NOERROR 172.30.0.41');
    expect(await ask(second, 'db.shop.svc.clusterset.local')).toBe('NOERROR 10.1.0.1');
    expect(await ask(second, 'new.ai.gw.cluster.local')).toBe('SERVFAIL');
    expect(await readiness(second)).toBe(200);
  });

  it('takes a damaged last good zone for none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-dns-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'zone.json');
    writeFileSync(file, '{"version":1,"frontends":[{"kind":"gate');
    const controller = await startController();
    const role = await startRole(controller.port, { SPILLWAY_DNS_LAST_GOOD_FILE: file });
    expect(await ask(role)).toBe('SERVFAIL');
    controller.setSnapshot(snapshotOf('172.30.0.41'));
    await untilAcked(controller);
    expect(readFileSync(file, 'utf8')).toContain('172.30.0.41');
  });

  it('says everything that is wrong with its configuration', async () => {
    await expect(startDnsRole({ SPILLWAY_DNS_PORT: 'x', SPILLWAY_LOG_LEVEL: 'loud' })).rejects.toThrow(ConfigError);
    const problems = await startDnsRole({ SPILLWAY_DNS_PORT: 'x', SPILLWAY_LOG_LEVEL: 'loud' }).catch((error: unknown) => (error instanceof ConfigError ? error.problems.map((problem) => problem.split(':')[0]) : []));
    expect(problems).toEqual(['SPILLWAY_LOG_LEVEL', 'SPILLWAY_POD_NAME', 'SPILLWAY_DNS_PORT', 'SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST']);
  });

  it('shows its state in metrics', async () => {
    const controller = await startController();
    controller.setSnapshot(snapshotOf('172.30.0.41'));
    const role = await startRole(controller.port);
    await untilAcked(controller);
    await ask(role);
    const metrics = await (await fetch(`${role.opsUrl}/metrics`)).text();
    for (const line of ['spillway_xds_client_connected{app="spoke-dns"} 1', 'spillway_dns_zone_names{zone="gw.cluster.local",app="spoke-dns"} 5', 'spillway_dns_current{app="spoke-dns"} 1', 'spillway_dns_messages_total{transport="udp",outcome="answer",app="spoke-dns"} 1']) expect(metrics).toContain(line);
  });
});
