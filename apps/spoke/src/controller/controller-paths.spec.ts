import { afterEach, describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { backendName, clusterId, type MemberPaths } from '#domain/fleet';
import { settle, until } from '#testing';

import { addGateway, addNode, addPod, addRoute, cluster, endpoints, imported, join, planOf, start, stop, stopAll } from './controller.fixture.js';

afterEach(stopAll);

const EAST = clusterId('east-1');
const GATEWAY = { labels: { 'spillway.dev/gateway': 'true' } };
const paths = (gatewayPort: number): MemberPaths => ({
  intake: { openings: [{ gatewayPort, backend: backendName('ai', 'model'), port: { port: 80, protocol: 'TCP' }, callers: [clusterId('west-1')] }], callers: [{ clusterId: clusterId('west-1'), addresses: ['203.0.113.1'] }] },
  peers: [],
});

/** A joined cluster whose node n1 is a gateway, with one server. */
function joined() {
  const parts = cluster();
  const { kube } = parts;
  addNode(kube, 'n1', { ip: '192.0.2.1', ...GATEWAY });
  addNode(kube, 'n2', { ip: '192.0.2.2' });
  addGateway(kube, 'front');
  addRoute(kube, 'front');
  addPod(kube, 'p1', '10.1.0.1', true);
  join(parts);
  return parts;
}

describe('controller and other networks', () => {
  it('tells the hub how its cluster is reached, and each change of that at once', async () => {
    const parts = joined();
    const { kube, link, clock } = parts;
    start(parts);
    await until('reported', () => link.reaches.has(EAST), clock);
    expect(link.reaches.get(EAST)).toEqual({ gateways: ['192.0.2.1'], egress: ['192.0.2.1', '192.0.2.2'], probes: ['192.0.2.1', '192.0.2.2'], probePort: 9091 });
    addNode(kube, 'n2', { ip: '192.0.2.2', ...GATEWAY });
    await until('reported again', () => link.reaches.get(EAST)?.gateways.length === 2);
  });

  it('opens the gateway ports that the hub gave, for those whom the hub named, and nothing else', async () => {
    const parts = joined();
    const { link, nodes, clock } = parts;
    link.setImport(imported({ 'east-1': 5_000, 'west-1': 5_000 }));
    link.setPaths(paths(20_000));
    start(parts);
    await until('opened', () => (planOf(nodes)?.gatewayPorts.length ?? 0) > 0, clock);
    expect(planOf(nodes)?.gatewayPorts).toEqual([{ port: 20_000, protocol: 'TCP', backend: 'local:ai/model/80/TCP', nodes: ['n1'], sources: ['203.0.113.1'] }]);
    expect(planOf(nodes)?.backends.find(({ id }) => id === 'local:ai/model/80/TCP')?.providers).toMatchObject([{ clusterId: 'east-1', shareBp: 10_000, endpoints: [{ address: '10.1.0.1' }] }]);
    expect(endpoints(nodes).map((one) => one.split('@')[0])).toEqual(['east-1', 'west-1']);
    link.setPaths({ intake: { openings: [], callers: [] }, peers: [] });
    await until('closed', () => planOf(nodes)?.gatewayPorts.length === 0);
    expect(planOf(nodes)?.backends.map(({ id }) => id)).toEqual(['composite:ai/model/80/TCP']);
  });

  it('opens them after a restart without the hub, and tells a hub that lost everything what it serves', async () => {
    const parts = joined();
    const { kube, link, nodes, clock } = parts;
    link.setImport(imported({ 'east-1': 10_000 }));
    link.setPaths(paths(20_000));
    const first = start(parts);
    await until('opened', () => (planOf(nodes)?.gatewayPorts.length ?? 0) > 0, clock);
    await clock.advance(10_000);
    await stop(first);
    nodes.setSnapshot({ clusters: [], loadAssignments: [] });
    link.goAway();
    start(parts);
    await until('opened again', () => (planOf(nodes)?.gatewayPorts.length ?? 0) > 0, clock);
    expect(planOf(nodes)?.gatewayPorts).toMatchObject([{ port: 20_000, sources: ['203.0.113.1'] }]);

    link.startEmpty('epoch-2');
    link.comeBack();
    link.addToken('t2', 'east-1');
    kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'spillway-system', name: 'spillway-join' }, data: { token: Buffer.from('t2').toString('base64') } });
    await until('reported in full', () => link.reports.at(-1)?.full === true && link.reaches.has(EAST), clock);
    expect(link.reports.at(-1)?.reach?.gatewayPorts).toMatchObject([{ backend: 'ai/model', gatewayPort: 20_000 }]);
    await settle();
    expect(planOf(nodes)?.gatewayPorts).toMatchObject([{ port: 20_000 }]);
  });
});
