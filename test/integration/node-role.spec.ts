import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { NetlinkNft } from '#adapters/netlink';
import { startXdsServer, type XdsServer } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import { clusterId } from '#domain/fleet';
import type { PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { renderXdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, SystemClock } from '#platform';
import { until } from '#testing';

import { startNodeRole, type NodeRole } from '../../apps/spoke/src/node/index.js';
import { connectNamespaces, describeWithRealPackets, LabCaller, LabNamespace } from './packets/packet-lab.js';

const VIP = '172.30.0.5';
const ENDPOINTS = ['10.1.0.2', '10.1.0.3'] as const;
const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
const NODE = 'node-1';
const logger = createLogger({ app: 'test', level: 'silent' });

const planOf = (...addresses: readonly string[]): RoutingPlan => ({
  frontends: [{ kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: [VIP], dnsNames: [], listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: MODEL, weight: 1 }], rejectWeight: 0 }] }],
  backends: [
    { id: MODEL, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [{ clusterId: clusterId('east-1'), locality: { region: '', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: addresses.map((address) => ({ address, port: 8080, state: 'ready', zone: '', node: '', hostname: '' })) }] },
  ],
  gatewayPorts: [],
});

describeWithRealPackets('the node role on a real kernel', () => {
  let node: LabNamespace;
  let client: LabNamespace;
  let pods: LabNamespace;
  let caller: LabCaller;
  let controller: XdsServer;
  let role: NodeRole | undefined;

  beforeAll(async () => {
    [node, client, pods] = [new LabNamespace(), new LabNamespace(), new LabNamespace()];
    node.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
    connectNamespaces(node, client, { gateway: '10.9.0.1', addresses: ['10.9.0.2'] });
    connectNamespaces(node, pods, { gateway: '10.1.0.1', addresses: ENDPOINTS });
    node.run('ip', 'route', 'add', 'default', 'via', '10.9.0.2');
    await pods.start('answer-server.ts', ...ENDPOINTS.map((address) => `${address}:8080`));
    caller = await LabCaller.start(client);
    controller = await startXdsServer({ host: '127.0.0.1', port: 0, tls: undefined, authenticate: () => Promise.resolve({ ok: true, identity: 'node' }), clock: new SystemClock(), logger, registry: new Registry() });
  });
  afterAll(async () => {
    await role?.stop();
    await controller?.close();
    for (const namespace of [node, client, pods]) await namespace.end();
  });

  const start = (): Promise<NodeRole> =>
    startNodeRole(
      {
        SPILLWAY_NODE_NAME: NODE,
        SPILLWAY_OPS_HOST: '127.0.0.1',
        SPILLWAY_OPS_PORT: '0',
        SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: '127.0.0.1',
        SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: String(controller.port),
      },
      { logger, usesTls: false, openNft: async () => ({ way: 'netlink', nft: await NetlinkNft.open({ networkNamespace: node.path }) }) },
    );
  const untilAcked = (): Promise<void> => until('the node acknowledges', () => controller.acknowledgements.status(NODE, CLUSTER_TYPE_URL, MODEL).kind === 'acked');
  const call = () => caller.call({ host: VIP, port: 80, count: 20 });

  it('serves connections from the moment it acknowledges', async () => {
    role = await start();
    controller.setSnapshot(renderXdsSnapshot(planOf(ENDPOINTS[0])));
    await untilAcked();
    expect(await call()).toEqual({ [`${ENDPOINTS[0]}:8080`]: 20 });
  });

  it('serves again after somebody flushed the ruleset, without being told', async () => {
    node.run('nft', 'flush', 'ruleset');
    await until('the table is back', () => node.run('nft', 'list', 'tables').includes('spillway'));
    expect(await call()).toEqual({ [`${ENDPOINTS[0]}:8080`]: 20 });
  });

  it('loses no connection when it is restarted under traffic, and goes on with new endpoints', async () => {
    let isCalling = true;
    const calls = caller.call({ host: VIP, port: 80, count: 3_000 }).finally(() => (isCalling = false));
    await role?.stop();
    role = await start();
    controller.setSnapshot(renderXdsSnapshot(planOf(ENDPOINTS[1])));
    await until('new connections go to the new endpoint', () => node.run('nft', 'list', 'table', 'ip', 'spillway').includes(`: ${ENDPOINTS[1]} . 8080`));
    expect(isCalling).toBe(true);
    expect(Object.keys(await calls).sort()).toEqual(ENDPOINTS.map((address) => `${address}:8080`));
  });

  it('keeps serving after it has stopped, and removes the table when nothing is planned', async () => {
    await role?.stop();
    expect(await call()).toEqual({ [`${ENDPOINTS[1]}:8080`]: 20 });
    role = await start();
    controller.setSnapshot(renderXdsSnapshot({ frontends: [], backends: [], gatewayPorts: [] }));
    await until('the table is gone', () => node.run('nft', 'list', 'tables') === '');
  });
});
