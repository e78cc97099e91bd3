import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { clientPod, corePath, echoDeployment, findRun, listRuns, livingPids, namespaceObject, namespacesOf, startTestbed, testbedNodeProblems, type ApiObject, type Pod, type PodRef, type Testbed, type TestbedCluster } from '#testbed';

const problems = testbedNodeProblems();
if (problems.length > 0) process.stderr.write(`SKIPPED the testbed's own tests:\n${problems.map((problem) => `  - ${problem}\n`).join('')}`);
const describeHere = problems.length === 0 ? describe : describe.skip;

/** Waits for a state, and fails with what was seen last. */
async function eventually<T>(read: () => Promise<T> | T, holds: (value: T) => boolean, timeoutMs = 15_000): Promise<T> {
  const endAtMs = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > endAtMs) throw new Error(`not within ${timeoutMs} ms; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const CLIENT: PodRef = { namespace: 'ai', name: 'client' };

const sorted = (values: ReadonlySet<unknown>): readonly string[] => [...values].map(String).sort();

const service = (name: string): ApiObject => ({ apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'ai', name }, spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] } });

async function answer(cluster: TestbedCluster, url: string): Promise<Record<string, unknown> | undefined> {
  const [result] = await cluster.request(CLIENT, url);
  return typeof result?.body === 'object' ? { ...result.body } : undefined;
}

async function shell(cluster: TestbedCluster, pod: PodRef, script: string): Promise<string> {
  return (await cluster.exec(pod, ['sh', '-c', script])).stdout.trim();
}

describeHere('testbed', () => {
  let testbed: Testbed;
  let west: TestbedCluster;
  let east: TestbedCluster;
  let island: TestbedCluster;

  beforeAll(async () => {
    testbed = await startTestbed({
      clusters: [
        { name: 'west', nodes: 2, network: 'main', podCidr: '10.1.0.0/16', nodeLabels: { 'topology.kubernetes.io/region': 'west-1' } },
        { name: 'east', nodes: 1, network: 'main', podCidr: '10.2.0.0/16', gpu: { product: 'NVIDIA-L4', count: 2 } },
        { name: 'island', nodes: 1, network: 'other', podCidr: '10.1.0.0/16' },
      ],
    });
    west = testbed.cluster('west');
    east = testbed.cluster('east');
    island = testbed.cluster('island');
    await Promise.all(testbed.clusters.map((cluster) => cluster.apply([namespaceObject('ai'), echoDeployment({ namespace: 'ai', name: 'echo', replicas: cluster.nodes.length }), service('echo'), clientPod({ namespace: 'ai', name: 'client' })])));
    await Promise.all(testbed.clusters.flatMap((cluster) => [cluster.waitForReadyPods('ai', 'app=echo', cluster.nodes.length), cluster.waitForReadyPods('ai', 'app=client', 1)]));
  }, 120_000);

  afterAll(async () => {
    await testbed?.stop();
  }, 60_000);

  it('spreads a Deployment over its nodes, and its Service answers from every pod by its DNS name', async () => {
    const seen = new Set<unknown>();
    await eventually(
      async () => {
        for (const result of await west.request(CLIENT, 'http://echo.ai.svc.cluster.local/', { count: 10 })) if (typeof result.body === 'object') seen.add(result.body.node);
        return sorted(seen);
      },
      (nodes) => nodes.length === 2,
    );
    expect(sorted(seen)).toEqual(['west-1', 'west-2']);
  }, 60_000);

  it('answers a short name by the search list of the pod', async () => {
    const body = await eventually(() => answer(west, 'http://echo/'), (value) => value !== undefined);
    expect(body).toMatchObject({ cluster: 'west', namespace: 'ai', ready: true });
  });

  it('follows readiness: an unready pod leaves its Service and comes back', async () => {
    const [pod] = await east.pods('ai', 'app=echo');
    const address = pod?.status?.podIP;
    await shell(east, CLIENT, `curl -s -X DELETE http://${address}:8080/ready`);
    await eventually(() => east.pods('ai', 'app=echo'), ([one]) => one?.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'False') === true);
    await eventually(() => east.request(CLIENT, 'http://echo.ai.svc.cluster.local/'), ([result]) => result?.error === 'ECONNREFUSED');
    await shell(east, CLIENT, `curl -s -X PUT http://${address}:8080/ready`);
    await eventually(() => answer(east, 'http://echo.ai.svc.cluster.local/'), (body) => body?.cluster === 'east');
  }, 60_000);

  it('gives a pod its Secrets, ConfigMaps, tokens and variables, and follows their changes', async () => {
    await west.apply([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'ai', name: 'settings' }, data: { colour: 'blue' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'ai', name: 'secret' }, stringData: { key: 's3cret' } },
      furnishedPod(),
    ]);
    await west.waitForReadyPods('ai', 'app=furnished', 1);
    const pod: PodRef = { namespace: 'ai', name: 'furnished' };
    expect(await shell(west, pod, 'cat /etc/settings/colour; cat /var/run/deep/in/secret/key')).toBe('blues3cret');
    expect(await shell(west, pod, 'echo $POD_NAME $NODE_IP $COLOUR $ECHO_SERVICE_HOST $KUBERNETES_SERVICE_PORT')).toMatch(/^furnished 198\.18\.\d+\.\d+ blue 10\.96\.\d+\.\d+ 443$/);
    const token = await shell(west, pod, 'cat /var/run/secrets/spillway/token');
    const review = await west.api.create<{ status: { authenticated: boolean; user: { username: string }; audiences: string[] } }>('/apis/authentication.k8s.io/v1/tokenreviews', { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: ['spillway-xds'] } });
    expect(review.status).toMatchObject({ authenticated: true, audiences: ['spillway-xds'], user: { username: 'system:serviceaccount:ai:default' } });
    await west.api.patch(corePath('ai', 'configmaps', 'settings'), { data: { colour: 'green' } });
    await eventually(() => shell(west, pod, 'cat /etc/settings/colour'), (text) => text === 'green');
  }, 60_000);

  it('lets a pod write where it likes without a trace on the machine or in another pod', async () => {
    await shell(west, CLIENT, 'echo mine > /etc/testbed-trace && mkdir -p /var/run/testbed-trace');
    expect(await shell(west, CLIENT, 'cat /etc/testbed-trace; ls -d /var/run/testbed-trace')).toBe('mine\n/var/run/testbed-trace');
    expect(() => readFileSync('/etc/testbed-trace')).toThrow('ENOENT');
    expect(() => readFileSync('/run/testbed-trace')).toThrow('ENOENT');
  });

  it('restarts a container that ends, and says how it ended', async () => {
    await west.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ai', name: 'crasher' }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'spillway.test/client:1', command: ['sh', '-c', 'echo attempt; exit 7'] }] } }]);
    interface CrashStatus { readonly containerStatuses?: readonly { readonly restartCount: number; readonly lastState: { readonly terminated?: { readonly exitCode: number } } }[] }
    const status = await eventually(async () => (await west.api.get<{ status: CrashStatus }>(corePath('ai', 'pods', 'crasher'))).status.containerStatuses?.[0], (container) => (container?.restartCount ?? 0) >= 2);
    expect(status?.lastState.terminated?.exitCode).toBe(7);
    expect((await west.logs({ namespace: 'ai', name: 'crasher' })).split('\n').filter((line) => line === 'attempt').length).toBeGreaterThanOrEqual(2);
    await west.api.remove(corePath('ai', 'pods', 'crasher'));
  }, 60_000);

  it('shows an image that it has no program for as an image that cannot be pulled', async () => {
    await west.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ai', name: 'unknown' }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'example.test/nothing:1' }] } }]);
    const waiting = await eventually(async () => JSON.stringify((await west.api.get<Pod>(corePath('ai', 'pods', 'unknown'))).status), (text) => text.includes('ErrImagePull'));
    expect(waiting).toContain('no program for image example.test/nothing:1');
    await west.api.remove(corePath('ai', 'pods', 'unknown'));
    await eventually(() => west.api.find(corePath('ai', 'pods', 'unknown')), (found) => found === undefined);
  }, 60_000);

  it('deletes a pod with its processes and its network namespace, after asking it to end', async () => {
    const before = new Set(namespacesOf(testbed.runId));
    await west.apply([clientPod({ namespace: 'ai', name: 'brief' })]);
    await west.waitForReadyPods('ai', 'app=brief', 1);
    const pid = await west.containerPid({ namespace: 'ai', name: 'brief' });
    const own = namespacesOf(testbed.runId).filter((name) => !before.has(name));
    expect(own).toHaveLength(1);
    await west.api.remove(corePath('ai', 'pods', 'brief'));
    await eventually(() => west.api.find(corePath('ai', 'pods', 'brief')), (found) => found === undefined);
    await eventually(() => namespacesOf(testbed.runId), (names) => !names.includes(own[0] ?? ''));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  }, 60_000);

  it('forwards a stub zone to the server that it is told', async () => {
    const corefile = 'gw.cluster.local:53 {\n  hosts {\n    203.0.113.7 model.ai.gw.cluster.local\n  }\n}\n';
    await west.apply([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'ai', name: 'stub' }, data: { Corefile: corefile } },
      { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ai', name: 'stub', labels: { app: 'stub' } }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'dns', image: 'registry.k8s.io/coredns/coredns:v1.15.0', args: ['-conf', '/etc/stub/Corefile'], readinessProbe: { tcpSocket: { port: 53 } }, volumeMounts: [{ name: 'config', mountPath: '/etc/stub' }] }], volumes: [{ name: 'config', configMap: { name: 'stub' } }] } },
      { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'ai', name: 'stub' }, spec: { selector: { app: 'stub' }, ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] } },
    ]);
    await west.waitForReadyPods('ai', 'app=stub', 1);
    const { spec } = await west.api.get<{ spec: { clusterIP: string } }>(corePath('ai', 'services', 'stub'));
    await west.configureStubZone('gw.cluster.local', spec.clusterIP);
    await eventually(() => shell(west, CLIENT, 'getent ahostsv4 model.ai.gw.cluster.local | head -1'), (text) => text.startsWith('203.0.113.7'));
    expect(await shell(west, CLIENT, 'getent hosts echo.ai.svc.cluster.local')).toMatch(/^10\.96\./);
  }, 60_000);

  it('lets members of one network reach each other by pod address, and keeps equal addresses of other networks apart', async () => {
    const [eastPod] = await east.pods('ai', 'app=echo');
    expect(await answer(west, `http://${eastPod?.status?.podIP}:8080/`)).toMatchObject({ cluster: 'east' });
    const [islandPod] = await island.pods('ai', 'app=echo');
    const overlap = islandPod?.status?.podIP ?? '';
    expect(overlap).toMatch(/^10\.1\./);
    const fromWest = await answer(west, `http://${overlap}:8080/`);
    expect(fromWest?.cluster).not.toBe('island');
    expect(await answer(island, `http://${overlap}:8080/`)).toMatchObject({ cluster: 'island' });
  }, 60_000);

  it('lets every pod reach the hub by its address in the room, and this process reach every API server', async () => {
    const server = await listen(testbed.hubAddress);
    const { port } = server.address() as { port: number };
    for (const cluster of testbed.clusters) expect(await answer(cluster, `http://${testbed.hubAddress}:${port}/`)).toEqual({ hub: true });
    server.closeAllConnections();
    server.close();
    for (const cluster of testbed.clusters) expect(cluster.controlPlane.server).not.toContain('127.0.0.1');
  }, 60_000);

  it('registers nodes with their labels, GPUs, addresses and pod ranges', async () => {
    const [node] = await east.api.list('/api/v1/nodes');
    expect(node).toMatchObject({ metadata: { labels: { 'nvidia.com/gpu.product': 'NVIDIA-L4' } }, spec: { podCIDR: '10.2.0.0/24' }, status: { allocatable: { 'nvidia.com/gpu': '2' } } });
    expect((await west.api.list('/api/v1/nodes')).map((each) => each.metadata.labels?.['topology.kubernetes.io/region'])).toEqual(['west-1', 'west-1']);
  });

  it('gives a ServiceAccount kubeconfig the rights that were asked for and no others', async () => {
    const text = await west.serviceAccountKubeconfig({ namespace: 'limited', name: 'reader', rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }] });
    const { users } = JSON.parse(text) as { users: readonly { user: { token: string } }[] };
    const review = (resource: string): Promise<{ status: { allowed: boolean } }> =>
      west.api.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user: 'system:serviceaccount:limited:reader', resourceAttributes: { verb: 'list', resource } } });
    expect(users[0]?.user.token.split('.')).toHaveLength(3);
    expect((await review('nodes')).status.allowed).toBe(true);
    expect((await review('secrets')).status.allowed).toBe(false);
  });

  it('runs a DaemonSet on every node, with hostNetwork in the network of the node itself', async () => {
    const labels = { app: 'agent' };
    const template = { metadata: { labels }, spec: { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'spillway.test/client:1' }] } };
    await west.apply([{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { namespace: 'ai', name: 'agent' }, spec: { selector: { matchLabels: labels }, template } }]);
    const pods = await west.waitForReadyPods('ai', 'app=agent', 2);
    expect(new Set(pods.map((pod) => pod.status?.podIP))).toEqual(new Set(west.nodes.map((node) => node.address)));
  }, 60_000);

  it('cuts a node off and plugs it in again', async () => {
    const [pod] = await east.pods('ai', 'app=echo');
    const url = `http://${pod?.status?.podIP}:8080/`;
    await east.nodes[0]?.unplug();
    expect(await answer(west, url)).toBeUndefined();
    await east.nodes[0]?.plug();
    await eventually(() => answer(west, url), (body) => body?.cluster === 'east', 30_000);
  }, 60_000);

  it('starts the pods of a node anew when its kubelet starts again', async () => {
    const pid = await island.containerPid(CLIENT);
    await island.nodes[0]?.stopKubelet();
    expect(() => process.kill(pid, 0)).not.toThrow();
    await island.nodes[0]?.startKubelet();
    const next = await eventually(() => island.containerPid(CLIENT).catch(() => pid), (found) => found !== pid);
    expect(next).not.toBe(pid);
    await eventually(() => answer(island, 'http://echo.ai.svc.cluster.local/'), (body) => body?.cluster === 'island', 30_000);
  }, 60_000);

  it('survives an API server that goes away and comes back: pods run on and are followed again', async () => {
    const pid = await east.containerPid(CLIENT);
    await east.controlPlane.stopApiServer();
    expect(() => process.kill(pid, 0)).not.toThrow();
    await east.controlPlane.startApiServer();
    await east.apply([echoDeployment({ namespace: 'ai', name: 'echo', replicas: 2 })]);
    await east.waitForReadyPods('ai', 'app=echo', 2, 60_000);
    expect(await east.containerPid(CLIENT)).toBe(pid);
  }, 120_000);

  it('leaves no process, namespace, link or mount behind when it stops', async () => {
    const state = findRun(testbed.runId)!;
    expect(livingPids(state).length).toBeGreaterThan(10);
    await testbed.stop();
    expect(leftovers(state.runId)).toEqual({ namespaces: [], mounts: [], run: undefined });
    expect(livingPids(state)).toEqual([]);
  }, 60_000);
});

describeHere('testbed whose owner is killed', () => {
  it('is ended by its watcher', async () => {
    const { owner, runId } = await upAndKill([]);
    await eventually(() => leftovers(runId), (left) => left.run === undefined, 30_000);
    expect(leftovers(runId)).toEqual({ namespaces: [], mounts: [], run: undefined });
    expect(owner.killed).toBe(true);
  }, 120_000);

  it('is ended by the next down where nobody watched', async () => {
    const { runId } = await upAndKill(['--unwatched']);
    const state = findRun(runId)!;
    expect(livingPids(state).length).toBeGreaterThan(0);
    await finished(spawn(process.execPath, [join(process.cwd(), 'dist/test/testbed/main.js'), 'down']));
    expect(leftovers(runId)).toEqual({ namespaces: [], mounts: [], run: undefined });
    expect(livingPids(state)).toEqual([]);
  }, 120_000);
});

function furnishedPod(): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'ai', name: 'furnished', labels: { app: 'furnished' } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: 'spillway.test/client:1',
          env: [
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'NODE_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
            { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } },
          ],
          readinessProbe: { exec: { command: ['sh', '-c', 'test "$POD_NAME" = furnished'] } },
          volumeMounts: [
            { name: 'settings', mountPath: '/etc/settings' },
            { name: 'secret', mountPath: '/var/run/deep/in/secret', readOnly: true },
            { name: 'token', mountPath: '/var/run/secrets/spillway' },
          ],
        },
      ],
      volumes: [
        { name: 'settings', configMap: { name: 'settings' } },
        { name: 'secret', secret: { secretName: 'secret' } },
        { name: 'token', projected: { sources: [{ serviceAccountToken: { audience: 'spillway-xds', path: 'token', expirationSeconds: 600 } }] } },
      ],
    },
  };
}

async function listen(address: string): Promise<Server> {
  const server = createServer((_request, response) => response.end('{"hub":true}'));
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return server;
}

async function upAndKill(flags: readonly string[]): Promise<{ readonly owner: ChildProcess; readonly runId: string }> {
  const owner = spawn(process.execPath, [join(process.cwd(), 'dist/test/testbed/main.js'), 'up', '--clusters', 'solo', '--nodes', '1', ...flags], { stdio: 'ignore' });
  const state = await eventually(() => listRuns().find((run) => run.owner.pid === owner.pid && run.processes.length >= 5), (run) => run !== undefined, 60_000);
  owner.kill('SIGKILL');
  await new Promise((resolve) => owner.once('exit', resolve));
  return { owner, runId: state?.runId ?? '' };
}

const leftovers = (runId: string): { namespaces: readonly string[]; mounts: readonly string[]; run: unknown } => ({
  namespaces: namespacesOf(runId),
  mounts: readFileSync('/proc/self/mounts', 'utf8').split('\n').filter((line) => line.includes(runId)),
  run: findRun(runId),
});

function finished(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the command ended with ${code}`))));
  });
}
