import { pino } from 'pino';
import { Registry } from 'prom-client';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { backendName, clusterId, type ImportedBackend } from '#domain/fleet';
import { parseXdsSnapshot } from '#domain/xds-snapshot';
import type { KubeKind, KubeObject } from '#ports';
import { FakeClock, FakeHubLink, FakeKube, FakeRandom } from '#testing';

import { SimulatedNodes } from '../simulated/simulated-nodes.js';
import { Controller } from './controller.js';
import { DEFAULT_CONTROLLER_OPTIONS } from './controller-options.js';

/** The spoke's namespace. */
export const SYSTEM = 'spillway-system';
const running: Controller[] = [];

/** Ends every controller that a test left running. */
export async function stopAll(): Promise<void> {
  await Promise.all(running.splice(0).map((controller) => controller.stop()));
}

/** One cluster, its nodes and its way to the hub. */
export interface Parts {
  readonly clock: FakeClock;
  readonly kube: FakeKube;
  readonly link: FakeHubLink;
  readonly nodes: SimulatedNodes;
}

/** A cluster with a service range and nothing of ours in it; a strict one serves no CRD. */
export function cluster(strict = false): Parts {
  const clock = new FakeClock();
  const parts = { clock, kube: new FakeKube({ clock, strict }), link: new FakeHubLink(clock), nodes: new SimulatedNodes(clock) };
  const { kube } = parts;
  kube.seed(KUBE_KINDS.namespace, object(KUBE_KINDS.namespace, { name: SYSTEM }, {}));
  kube.seed(KUBE_KINDS.namespace, object(KUBE_KINDS.namespace, { name: 'ai' }, {}));
  kube.seed(KUBE_KINDS.serviceCidr, { ...object(KUBE_KINDS.serviceCidr, { name: 'kubernetes' }, { cidrs: ['172.30.0.0/16'] }), status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' }] } });
  return parts;
}

/** Starts a controller there. */
export function start(parts: Parts, podName = 'pod-a'): Controller {
  const { kube, link, clock, nodes } = parts;
  const controller = new Controller(
    { kube, link, clock, random: new FakeRandom(podName.length), logger: pino({ level: 'silent' }), registry: new Registry(), server: nodes },
    { ...DEFAULT_CONTROLLER_OPTIONS, podName, planDebounceMs: 0, statusDebounceMs: 0 },
  );
  controller.start();
  running.push(controller);
  return controller;
}

/** Ends one controller. */
export async function stop(controller: Controller): Promise<void> {
  running.splice(running.indexOf(controller), 1);
  await controller.stop();
}

/** An object of a kind. */
export const object = (kind: KubeKind, metadata: KubeObject['metadata'], spec: unknown): KubeObject => ({ apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`, kind: kind.kind, metadata, spec });

function addClass(kube: FakeKube): void {
  kube.seed(KUBE_KINDS.gatewayClass, object(KUBE_KINDS.gatewayClass, { name: 'cluster-ip' }, { controllerName: 'spillway.dev/cluster-ip' }));
}

/** A Gateway of our class in the namespace `ai`. */
export function addGateway(kube: FakeKube, name: string, addresses: readonly { value: string }[] = []): void {
  addClass(kube);
  kube.seed(KUBE_KINDS.gateway, object(KUBE_KINDS.gateway, { namespace: 'ai', name }, { gatewayClassName: 'cluster-ip', addresses, listeners: [{ name: 'tcp', port: 80, protocol: 'TCP' }] }));
}

/** A route from a Gateway to the back end `ai/model`. */
export function addRoute(kube: FakeKube, gateway: string): void {
  kube.seed(KUBE_KINDS.tcpRoute, object(KUBE_KINDS.tcpRoute, { namespace: 'ai', name: gateway }, { parentRefs: [{ name: gateway }], rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'CompositeBackend', name: 'model', port: 80 }] }] }));
  kube.seed(KUBE_KINDS.endpointSelector, object(KUBE_KINDS.endpointSelector, { namespace: 'ai', name: 'model' }, { selector: { matchLabels: { app: 'model' } }, ports: [{ name: 'http', targetPort: 8080, protocol: 'TCP' }] }));
  kube.seed(KUBE_KINDS.compositeBackend, object(KUBE_KINDS.compositeBackend, { namespace: 'ai', name: 'model' }, { backendRef: { group: 'spillway.dev', kind: 'EndpointSelector', name: 'model' }, ports: [{ port: 80, targetPort: 'http', protocol: 'TCP' }] }));
}

/** A server of `ai/model`. */
export function addPod(kube: FakeKube, name: string, ip: string, isReady: boolean): void {
  kube.seed(KUBE_KINDS.pod, { ...object(KUBE_KINDS.pod, { namespace: 'ai', name, labels: { app: 'model' } }, { nodeName: 'n1', containers: [] }), status: { phase: 'Running', podIP: ip, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] } });
}

/** A Ready node with an agent. */
export function addNode(kube: FakeKube, name: string, { ip = '192.0.2.1', labels = {} }: { readonly ip?: string; readonly labels?: Readonly<Record<string, string>> } = {}): void {
  kube.seed(KUBE_KINDS.node, { ...object(KUBE_KINDS.node, { name, labels }, {}), status: { addresses: [{ type: 'InternalIP', address: ip }], conditions: [{ type: 'Ready', status: 'True' }] } });
  kube.seed(KUBE_KINDS.pod, { ...object(KUBE_KINDS.pod, { namespace: SYSTEM, name: `agent-${name}`, labels: { 'app.kubernetes.io/name': 'spillway-spoke', 'app.kubernetes.io/component': 'node' } }, { nodeName: name, containers: [{ ports: [{ name: 'ops', containerPort: 9091 }] }] }), status: { phase: 'Running', podIP: ip, conditions: [] } });
}

/** Gives the cluster a join token. */
export const join = ({ kube, link }: Parts): void => {
  link.addToken('t1', 'east-1');
  kube.seed(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: SYSTEM, name: 'spillway-join' }, data: { token: Buffer.from('t1').toString('base64') } });
};

const port = { port: 80, protocol: 'TCP' } as const;
/** What the hub tells of `ai/model`, with these shares; east-1 is this cluster. */
export const imported = (shares: Readonly<Record<string, number>>): ImportedBackend => ({
  name: backendName('ai', 'model'), trafficClass: 'endpoints', sessionAffinity: 'None', conflicts: [], refusals: [], memberCount: 2, servingCount: 2,
  providers: Object.keys(shares).map((id) => ({ clusterId: clusterId(id), locality: { region: '', zone: '' }, path: 'direct', endpoints: id === 'east-1' ? [] : [{ address: '10.2.0.1', targetPorts: [8080], ready: true, serving: true, terminating: false, zone: '', node: '' }], ports: [port], readyAssumed: 1 })),
  ports: [{ port, shares: Object.entries(shares).map(([id, shareBp]) => ({ clusterId: clusterId(id), shareBp })) }],
});

/** The same API server, with a note of every write that comes through this door. */
export function withRecordedWrites(kube: FakeKube, writes: string[]): FakeKube {
  return new Proxy(kube, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        if (['create', 'apply', 'replace', 'replaceStatus', 'remove'].includes(String(name))) writes.push(`${String(name)} ${(args[0] as KubeKind).kind}`);
        return Reflect.apply(member, target, args);
      };
    },
  });
}

/** A Gateway's status. */
export interface Status {
  readonly addresses?: readonly { readonly value: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
}
/** Reads a Gateway's status. */
export const gatewayStatus = async (kube: FakeKube, name: string): Promise<Status> => ((await kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name }))?.['status'] ?? {});
/** The status of one condition. */
export const condition = async (kube: FakeKube, name: string, type: string): Promise<string | undefined> => (await gatewayStatus(kube, name)).conditions?.find((one) => one.type === type)?.status;
/** Names of all IPAddresses. */
export const ipAddresses = async (kube: FakeKube): Promise<string[]> => (await kube.list(KUBE_KINDS.ipAddress)).map((one) => one.metadata.name);
/** The plan as nodes were told it last. */
export const planOf = (nodes: SimulatedNodes) => (nodes.snapshot === undefined ? undefined : parseXdsSnapshot(nodes.snapshot));
/** `cluster@address:port state` of every endpoint of the model backend, as nodes are told. */
export function endpoints(nodes: SimulatedNodes): string[] {
  const providers = planOf(nodes)?.backends.find((backend) => backend.id.startsWith('composite:ai/model/'))?.providers ?? [];
  return providers.flatMap((provider) => provider.endpoints.map((endpoint) => `${provider.clusterId}@${endpoint.address}:${endpoint.port} ${endpoint.state} ${provider.shareBp}`));
}
