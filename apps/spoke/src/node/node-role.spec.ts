import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { startXdsServer, type XdsServer } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import { clusterId, FleetError } from '#domain/fleet';
import { buildNftRuleset } from '#domain/nft-ruleset';
import type { PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { renderXdsSnapshot } from '#domain/xds-snapshot';
import { ConfigError, createLogger, SystemClock } from '#platform';
import { FakeNft, settle, until } from '#testing';

import { startNodeRole, type NodeRole, type NodeRoleParts } from './index.js';

const logger = createLogger({ app: 'test', level: 'silent' });
const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
const NODE = 'node-1';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const planOf = (...addresses: readonly string[]): RoutingPlan => ({
  frontends: [
    { kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: ['172.30.0.41'], dnsNames: ['model.ai.gw.cluster.local'], listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: MODEL, weight: 1 }], rejectWeight: 0 }] },
  ],
  backends: [
    { id: MODEL, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [{ clusterId: clusterId('east-1'), locality: { region: 'east-1', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: addresses.map((address) => ({ address, port: 8080, state: 'ready', zone: '', node: '', hostname: '' })) }] },
  ],
  gatewayPorts: [],
});
const EMPTY: RoutingPlan = { frontends: [], backends: [], gatewayPorts: [] };
const textOf = (plan: RoutingPlan): string => buildNftRuleset(plan).text;

async function startController(port = 0): Promise<XdsServer> {
  const server = await startXdsServer({ host: '127.0.0.1', port, tls: undefined, authenticate: async () => Promise.resolve({ ok: true, identity: 'node' }), clock: new SystemClock(), logger, registry: new Registry() });
  cleanups.push(() => server.close());
  return server;
}

async function startRole(controllerPort: number, nft: FakeNft, options: { readonly env?: Record<string, string>; readonly parts?: NodeRoleParts } = {}): Promise<NodeRole> {
  const role = await startNodeRole(
    {
      SPILLWAY_NODE_NAME: NODE,
      SPILLWAY_OPS_HOST: '127.0.0.1',
      SPILLWAY_OPS_PORT: '0',
      SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: '127.0.0.1',
      SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: String(controllerPort),
      SPILLWAY_NODE_RESTORE_INTERVAL_MS: '1',
      ...options.env,
    },
    { logger, usesTls: false, openNft: () => Promise.resolve({ way: 'netlink', nft }), ...options.parts },
  );
  cleanups.push(() => role.stop());
  return role;
}

const statusOf = (server: XdsServer) => server.acknowledgements.status(NODE, CLUSTER_TYPE_URL, MODEL);
const untilAcked = (server: XdsServer): Promise<void> => until('the node acknowledges', () => statusOf(server).kind === 'acked');
const readiness = async (role: NodeRole): Promise<string> => (await fetch(`${role.opsUrl}/readyz`)).text();
const metric = async (role: NodeRole, name: string): Promise<number> => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (.+)$`, 'm').exec(await (await fetch(`${role.opsUrl}/metrics`)).text())?.[1]);

describe('the node role', () => {
  it('changes nothing and is not ready before the first plan, then brings it about and acknowledges', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    const role = await startRole(controller.port, nft);
    expect(await readiness(role)).toMatch(/^plan: /);
    expect(nft.table).toBe('');
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    expect(nft.table).toBe(textOf(planOf('10.1.0.5')));
    expect(await readiness(role)).toBe('ok\n');
    expect(await metric(role, 'spillway_node_frontends')).toBe(1);
  });

  it('follows endpoints without delay', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    await startRole(controller.port, nft);
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.6', '10.2.0.5')));
    await until('the new endpoints are in the kernel', () => nft.table === textOf(planOf('10.1.0.6', '10.2.0.5')));
  });

  it('refuses with the kernel’s error what the kernel refuses, keeps the table as it was, and recovers by itself', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    const role = await startRole(controller.port, nft);
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    nft.failNext = new FleetError('NFT_REJECTED', 'bug', 'EINVAL while adding a rule to chain listener-x');
    const other: RoutingPlan = { ...planOf('10.1.0.6'), frontends: planOf().frontends.map((frontend) => ({ ...frontend, addresses: ['172.30.0.42'] })) };
    controller.setSnapshot(renderXdsSnapshot(other));
    await until('the node refuses', () => statusOf(controller).kind === 'nacked');
    expect(statusOf(controller)).toMatchObject({ message: expect.stringContaining('EINVAL while adding a rule') });
    expect(nft.table).toBe(textOf(planOf('10.1.0.5')));
    expect(await readiness(role)).toContain('nftables: EINVAL while adding a rule');
    await untilAcked(controller);
    expect(nft.table).toBe(textOf(other));
    expect(await readiness(role)).toBe('ok\n');
    expect(await metric(role, 'spillway_node_apply_errors_total')).toBe(1);
  });

  it('restores at once what somebody else flushed, and counts it', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    const role = await startRole(controller.port, nft);
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    nft.flushRuleset();
    expect(nft.table).toBe('');
    await until('the table is back', () => nft.table === textOf(planOf('10.1.0.5')));
    expect(await metric(role, 'spillway_node_foreign_changes_total')).toBe(1);
  });

  it('goes on restoring when the first try fails', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    const role = await startRole(controller.port, nft);
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    nft.failNext = new FleetError('NFT_BUSY', 'transient', 'EBUSY');
    nft.flushRuleset();
    await until('the table is back', () => nft.table === textOf(planOf('10.1.0.5')));
    await until('it is ready again', async () => (await readiness(role)) === 'ok\n');
  });

  it('finds a change that no notification told of', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    await startRole(controller.port, nft, { env: { SPILLWAY_NODE_CHECK_INTERVAL_MS: '1' } });
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    nft.reopen().changeFromOutside([]);
    await until('the table is back', () => nft.table === textOf(planOf('10.1.0.5')));
  });

  it('removes the table when nothing is planned any more', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    await startRole(controller.port, nft);
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    controller.setSnapshot(renderXdsSnapshot(EMPTY));
    await until('the table is gone', () => nft.table === '');
  });

  it('keeps the rules when it stops, and leaves those of an earlier process alone until the controller speaks', async () => {
    const nft = new FakeNft();
    await nft.apply(buildNftRuleset(planOf('10.1.0.5')));
    const controller = await startController();
    const role = await startRole(controller.port, nft.reopen());
    await settle();
    expect(nft.table).toBe(textOf(planOf('10.1.0.5')));
    await role.stop();
    expect(nft.table).toBe(textOf(planOf('10.1.0.5')));
  });

  it('brings the last good plan back only where the kernel has lost its table', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-node-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const env = { SPILLWAY_NODE_LAST_GOOD_FILE: join(folder, 'plan.json') };
    const controller = await startController();
    const nft = new FakeNft();
    const role = await startRole(controller.port, nft, { env });
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await untilAcked(controller);
    await role.stop();
    await controller.close();
    expect(existsSync(env.SPILLWAY_NODE_LAST_GOOD_FILE)).toBe(true);

    nft.flushRuleset();
    const later = await startRole(controller.port, nft.reopen(), { env });
    expect(nft.table).toBe(textOf(planOf('10.1.0.5')));
    await later.stop();

    const other = nft.reopen();
    await other.apply(buildNftRuleset(planOf('10.1.0.9')));
    await startRole(controller.port, nft.reopen(), { env });
    expect(nft.table).toBe(textOf(planOf('10.1.0.9')));
  });

  it('starts without a last good plan where the file cannot be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-node-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'plan.json');
    writeFileSync(file, '{"version": 1, "plan": {"frontends": [], "back');
    const nft = new FakeNft();
    const role = await startRole(1, nft, { env: { SPILLWAY_NODE_LAST_GOOD_FILE: file } });
    expect(nft.table).toBe('');
    expect(await readiness(role)).toContain('plan: the controller was not reached yet');
  });

  it('says what is missing where nftables cannot be opened, refuses plans with it, and works once it can', async () => {
    const controller = await startController();
    const nft = new FakeNft();
    let isAllowed = false;
    const openNft = () => (isAllowed ? Promise.resolve({ way: 'netlink' as const, nft }) : Promise.reject(new FleetError('NFT_UNAVAILABLE', 'user', 'EPERM while reading: the process needs the capability NET_ADMIN')));
    const role = await startRole(controller.port, nft, { parts: { openNft } });
    expect(await readiness(role)).toContain('nftables: EPERM while reading: the process needs the capability NET_ADMIN');
    controller.setSnapshot(renderXdsSnapshot(planOf('10.1.0.5')));
    await until('the node refuses', () => statusOf(controller).kind === 'nacked');
    expect(statusOf(controller)).toMatchObject({ message: expect.stringContaining('NET_ADMIN') });
    isAllowed = true;
    await untilAcked(controller);
    expect(await readiness(role)).toBe('ok\n');
  });

  it('prints every problem of its environment', async () => {
    await expect(startNodeRole({ SPILLWAY_OPS_PORT: 'many' })).rejects.toThrow(ConfigError);
    await expect(startNodeRole({ SPILLWAY_OPS_PORT: 'many' })).rejects.toThrow(/SPILLWAY_NODE_NAME: set it to the node's name[^]*SPILLWAY_OPS_PORT/);
  });
});
