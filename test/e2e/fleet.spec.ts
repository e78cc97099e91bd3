import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { TestbedCluster } from '#testbed';

import { startFleet, THREE_CLUSTERS, type FleetUnderTest } from '../fleet/fleet-under-test.js';
import { SAMPLE } from '../fleet/sample-objects.js';
import { until } from '../fleet/until.js';
import { describeOnTestbed } from './needs.js';

const REPLICAS: Readonly<Record<string, number>> = { 'east-1': 2, 'west-1': 4, 'north-1': 2 };
const ALL = Object.keys(REPLICAS);

interface ConditionView {
  readonly type: string;
  readonly status: string;
}
interface GatewayView {
  readonly status: { readonly listeners: readonly { readonly attachedRoutes: number; readonly conditions: readonly ConditionView[] }[] };
}
interface RouteView {
  readonly status: { readonly parents: readonly { readonly controllerName: string; readonly conditions: readonly ConditionView[] }[] };
}

/** One fleet serves all tests of this file, in their order: each leaves it whole for the next. */
describeOnTestbed('a fleet of three real clusters', () => {
  let fleet: FleetUnderTest;
  let east: TestbedCluster;
  let west: TestbedCluster;
  let north: TestbedCluster;

  beforeAll(async () => {
    fleet = await startFleet({ clusters: THREE_CLUSTERS });
    east = fleet.testbed.cluster('east-1');
    west = fleet.testbed.cluster('west-1');
    north = fleet.testbed.cluster('north-1');
  }, 600_000);
  afterAll(() => fleet?.stop(), 60_000);

  const untilAnsweringPods = (cluster: TestbedCluster, pods: readonly string[], state: string, isSo: (answering: readonly string[]) => boolean): Promise<void> =>
    until(state, async () => {
      const { byPod } = await fleet.traffic(cluster, { rate: 200, seconds: 0.5 });
      return isSo(pods.filter((pod) => byPod[pod] !== undefined));
    });

  it('joins clusters by their kubeconfig alone: what the worker installs is what runs, under its own rights', async () => {
    for (const cluster of fleet.clusters) await fleet.register(cluster, { region: cluster.name, zone: '' });
    await fleet.waitUntilJoined();
    await fleet.configureDns();
  }, 300_000);

  it('serves nothing of another cluster before a policy says that the namespace is the same', async () => {
    await fleet.deploySample(REPLICAS);
    await fleet.gatewayAddress(east);
    const report = await fleet.waitUntilAnsweredBy(east, ['east-1']);
    expect(report.errors).toEqual({});
  }, 180_000);

  it('answers one address from every cluster once a policy says so, in shares of ready capacity', async () => {
    await fleet.shareNamespace(SAMPLE.namespace);
    await fleet.waitUntilAnsweredBy(east, ALL);
    const report = await fleet.traffic(east, { rate: 200, seconds: 4 });
    expect(report.failed).toBe(0);
    const ready = Object.values(REPLICAS).reduce((sum, count) => sum + count, 0);
    for (const [cluster, replicas] of Object.entries(REPLICAS)) {
      const share = replicas / ready;
      const sigma = Math.sqrt(report.sent * share * (1 - share));
      expect(Math.abs((report.byCluster[cluster] ?? 0) - report.sent * share)).toBeLessThan(4 * sigma);
    }
  }, 120_000);

  it('is called under the same name from every cluster', async () => {
    for (const cluster of [west, north]) expect((await fleet.waitUntilAnsweredBy(cluster, ALL)).failed).toBe(0);
  }, 120_000);

  it('says Programmed only on evidence, for Gateway, listener and route', async () => {
    const gateway = await east.api.get<GatewayView>('/apis/gateway.networking.k8s.io/v1/namespaces/ai/gateways/model');
    expect(gateway.status.listeners[0]?.attachedRoutes).toBe(1);
    expect(gateway.status.listeners[0]?.conditions.find((condition) => condition.type === 'Programmed')?.status).toBe('True');
    const route = await east.api.get<RouteView>('/apis/gateway.networking.k8s.io/v1/namespaces/ai/tcproutes/model');
    expect(route.status.parents).toHaveLength(1);
    expect(route.status.parents[0]?.controllerName).toBe('spillway.dev/cluster-ip');
    expect(route.status.parents[0]?.conditions.filter((condition) => condition.status === 'True').map((condition) => condition.type).sort()).toEqual(['Accepted', 'ResolvedRefs']);
  });

  it('moves every answer away from a cluster whose pods go, and back when they return, without a failed request', async () => {
    const during = fleet.traffic(east, { rate: 40, seconds: 10 });
    await fleet.scaleSample(west, 0);
    await fleet.waitUntilAnsweredBy(east, ['east-1', 'north-1']);
    await fleet.scaleSample(west, REPLICAS['west-1'] ?? 0);
    await fleet.waitUntilAnsweredBy(east, ALL);
    expect((await during).errors).toEqual({});
  }, 120_000);

  it('keeps serving while the hub is away, and applies local changes', async () => {
    const during = fleet.traffic(east, { rate: 40, seconds: 25 });
    await fleet.hub.end('SIGKILL');
    await fleet.worker.end('SIGKILL');
    await fleet.scaleSample(east, 3);
    const pods = (await east.waitForReadyPods(SAMPLE.namespace, `app=${SAMPLE.name}`, 3)).map((pod) => pod.metadata.name);
    await untilAnsweringPods(east, pods, 'every local pod answers', (answering) => answering.length === 3);
    const [tired = ''] = pods;
    await fleet.setServing(east, tired, false);
    await untilAnsweringPods(east, pods, 'the pod that is not ready answers no more', (answering) => answering.length === 2 && !answering.includes(tired));
    await fleet.setServing(east, tired, true);
    await untilAnsweringPods(east, pods, 'every local pod answers again', (answering) => answering.length === 3);
    expect((await during).errors).toEqual({});
  }, 180_000);

  it('flaps nothing when the hub comes back', async () => {
    const during = fleet.traffic(west, { rate: 40, seconds: 15 });
    await fleet.hub.start();
    await fleet.worker.start();
    await fleet.waitUntilJoined();
    const report = await during;
    expect(report.errors).toEqual({});
    expect(Object.keys(report.byCluster).sort()).toEqual([...ALL].sort());
  }, 180_000);

  it.each(['controller', 'node'] as const)('loses no connection when a spoke %s is killed', async (component) => {
    const during = fleet.traffic(east, { rate: 40, seconds: 12 });
    for (const pod of await east.pods('spillway-system', `app.kubernetes.io/component=${component}`)) {
      process.kill(await east.containerPid({ namespace: 'spillway-system', name: pod.metadata.name }), 'SIGKILL');
    }
    const report = await during;
    expect(report.errors).toEqual({});
    // What a killed process left must be taken up again: a change after it still arrives.
    await fleet.scaleSample(west, 0);
    await fleet.waitUntilAnsweredBy(east, ['east-1', 'north-1'], 90_000);
    await fleet.scaleSample(west, REPLICAS['west-1'] ?? 0);
    await fleet.waitUntilAnsweredBy(east, ALL, 90_000);
  }, 240_000);

  it('restores its table after somebody flushed the node’s whole ruleset', async () => {
    const address = await fleet.gatewayAddress(east);
    for (const node of east.nodes) await node.exec(['nft', 'flush', 'ruleset']);
    await until('the table is back on every node', async () => {
      const lists = await Promise.all(east.nodes.map((node) => node.exec(['nft', 'list', 'tables'])));
      return lists.every((list) => list.includes('spillway'));
    }, 10_000);
    // By address: kube-proxy, whose table went too, leads to cluster DNS and does not notice by itself.
    const report = await fleet.traffic(east, { rate: 40, seconds: 3, url: `http://${address}/` });
    expect(report.errors).toEqual({});
    for (const node of east.nodes) {
      await node.stopKubeProxy();
      await node.startKubeProxy();
    }
    await fleet.waitUntilAnsweredBy(east, ALL);
  }, 120_000);

  it('lets a cluster leave in order: nothing of ours is left in it, and nobody else loses a request', async () => {
    const during = fleet.traffic(east, { rate: 40, seconds: 20 });
    await fleet.client.mutate('removeCluster', 'mutation R($input: RemoveClusterInput!) { removeCluster(input: $input) { userErrors { path code message } } }', { input: { name: 'north-1', force: false } });
    await until('north-1 is no member any more', async () => (await fleet.client.query<{ readonly cluster: unknown }>('{ cluster(name: "north-1") { name } }')).cluster === null, 120_000);
    await fleet.waitUntilAnsweredBy(east, ['east-1', 'west-1']);
    expect((await during).errors).toEqual({});
    expect(await north.api.find('/api/v1/namespaces/spillway-system')).toBeUndefined();
    expect(await north.api.list('/apis/networking.k8s.io/v1/ipaddresses?labelSelector=ipaddress.kubernetes.io%2Fmanaged-by%3Dspillway.dev')).toEqual([]);
    for (const node of north.nodes) expect(await node.exec(['nft', 'list', 'tables'])).not.toContain('spillway');
  }, 240_000);

  it('lets a dead cluster leave by force', async () => {
    await west.controlPlane.stopApiServer();
    await fleet.client.mutate('removeCluster', 'mutation R($input: RemoveClusterInput!) { removeCluster(input: $input) { userErrors { path code message } } }', { input: { name: 'west-1', force: true } });
    await until('west-1 is no member any more', async () => (await fleet.client.query<{ readonly cluster: unknown }>('{ cluster(name: "west-1") { name } }')).cluster === null, 60_000);
    await fleet.waitUntilAnsweredBy(east, ['east-1']);
  }, 180_000);
});
