import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ControlPlane } from './control-plane/control-plane.js';
import { renderKubeconfig } from './control-plane/kubeconfig.js';
import { applyObjects, applyYaml } from './kube-api/apply-objects.js';
import { corePath, type ApiObject, type KubeApi } from './kube-api/kube-api.js';
import { besideContainer } from './kubelet/container-root.js';
import type { Pod } from './kubelet/pod-types.js';
import { isAlive, processEnvironment, type ProcessIdentity } from './machine-room/process-identity.js';
import { testbedProgram } from './machine-room/project-paths.js';
import { becomesTrue } from './machine-room/room-process.js';
import { renderCorefile, type StubZone } from './nodes/cluster-dns.js';
import type { TestbedNode } from './nodes/testbed-node.js';

/** Names one container; the first of the pod where none is named. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly container?: string;
}

/** How a command ended. */
export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One answer to {@link TestbedCluster.request}. */
export interface RequestResult {
  readonly ms: number;
  readonly address?: string;
  readonly status?: number;
  readonly body?: Readonly<Record<string, unknown>> | string;
  /** Why there is no answer, such as ECONNREFUSED. */
  readonly error?: string;
}

/** A running member cluster. */
export class TestbedCluster {
  readonly name: string;
  readonly network: string;
  readonly podCidr: string;
  readonly nodes: readonly TestbedNode[];
  readonly controlPlane: ControlPlane;
  #stubZones: readonly StubZone[] = [];

  constructor(parts: { readonly network: string; readonly podCidr: string; readonly nodes: readonly TestbedNode[]; readonly controlPlane: ControlPlane }) {
    this.name = parts.controlPlane.name;
    this.network = parts.network;
    this.podCidr = parts.podCidr;
    this.nodes = parts.nodes;
    this.controlPlane = parts.controlPlane;
  }

  /** The administrator's client. */
  get api(): KubeApi {
    return this.controlPlane.api;
  }

  /** The administrator's kubeconfig. */
  kubeconfig(): string {
    return this.controlPlane.kubeconfig();
  }

  /** A kubeconfig with the token of a ServiceAccount (made if need be) that has exactly the given cluster-wide rules. */
  async serviceAccountKubeconfig(account: { readonly namespace: string; readonly name: string; readonly rules: readonly object[]; readonly expirationSeconds?: number }): Promise<string> {
    const metadata = { namespace: account.namespace, name: account.name };
    const roleName = `testbed:${account.namespace}:${account.name}`;
    await this.apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: account.namespace } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: roleName }, rules: account.rules },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: roleName }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName }, subjects: [{ kind: 'ServiceAccount', ...metadata }] },
    ]);
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: account.expirationSeconds ?? 86_400 } };
    const { status } = await this.api.create<{ status: { token: string } }>(`${corePath(account.namespace, 'serviceaccounts', account.name)}/token`, request);
    return renderKubeconfig(this.name, { server: this.controlPlane.server, caPem: this.controlPlane.caPem, user: { token: status.token } });
  }

  /** Server-side applies objects in order. */
  apply(objects: readonly ApiObject[]): Promise<void> {
    return applyObjects(this.api, objects);
  }

  /** Server-side applies the objects of a YAML text. */
  applyYaml(text: string): Promise<void> {
    return applyYaml(this.api, text);
  }

  /** The pods with the given labels (`app=echo`). */
  async pods(namespace: string, labelSelector = ''): Promise<readonly Pod[]> {
    return (await this.api.list(`${corePath(namespace, 'pods')}?labelSelector=${encodeURIComponent(labelSelector)}`)) as Pod[];
  }

  /** Waits until as many pods with these labels are ready, and no others are left; returns them. */
  async waitForReadyPods(namespace: string, labelSelector: string, count: number, timeoutMs = 30_000): Promise<readonly Pod[]> {
    let pods: readonly Pod[] = [];
    const settled = await becomesTrue(async () => {
      pods = await this.pods(namespace, labelSelector);
      return pods.length === count && pods.every(isReady);
    }, timeoutMs, 50);
    if (!settled) throw new Error(`${this.name}: pods ${labelSelector} in ${namespace} are not ${count} ready ones after ${timeoutMs} ms: ${describePods(pods)}`);
    return pods;
  }

  /** Runs a command to its end in a running container's namespaces. */
  async exec(pod: PodRef, command: readonly string[], timeoutMs = 30_000): Promise<ExecResult> {
    const pid = await this.containerPid(pod);
    const [program = '', ...args] = besideContainer(pid, command);
    return new Promise((resolve, reject) => {
      execFile(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024, env: { ...processEnvironment(pid) } }, (error, stdout, stderr) => {
        if (error === null) resolve({ code: 0, stdout, stderr });
        else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr });
        else reject(new Error(`${command.join(' ')} in ${pod.namespace}/${pod.name} was ended after ${timeoutMs} ms`, { cause: error }));
      });
    });
  }

  /** Starts a command in a running container's namespaces, with pipes for its input and output; the caller ends it. */
  async spawn(pod: PodRef, command: readonly string[]): Promise<ChildProcess> {
    const pid = await this.containerPid(pod);
    const [program = '', ...args] = besideContainer(pid, command);
    return spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...processEnvironment(pid) } });
  }

  /** Sends requests from a pod, each over a connection and a look-up of its own. */
  async request(pod: PodRef, url: string, options: { readonly count?: number; readonly intervalMs?: number; readonly timeoutMs?: number } = {}): Promise<readonly RequestResult[]> {
    const command = [process.execPath, testbedProgram('images/request.js'), url, String(options.count ?? 1), String(options.intervalMs ?? 0)];
    const result = await this.exec(pod, command, options.timeoutMs ?? 60_000);
    if (result.code !== 0) throw new Error(`the request program failed in ${pod.namespace}/${pod.name}: ${result.stderr}`);
    return result.stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as RequestResult);
  }

  /** What a container has written so far, over all its restarts. */
  async logs(pod: PodRef): Promise<string> {
    const { directory, container } = await this.#locate(pod);
    return readFileSync(join(directory, `${container}.log`), 'utf8');
  }

  /** The pid of a running container. */
  async containerPid(pod: PodRef): Promise<number> {
    const { directory, container } = await this.#locate(pod);
    const identity = readIdentity(join(directory, `${container}.pid`));
    if (identity === undefined || !isAlive(identity)) throw new Error(`container ${container} of ${pod.namespace}/${pod.name} does not run`);
    return identity.pid;
  }

  /** Makes cluster DNS forward a zone to an address, and returns once it does. */
  async configureStubZone(zone: string, address: string): Promise<void> {
    this.#stubZones = [...this.#stubZones.filter((stub) => stub.zone !== zone), { zone, address }];
    await this.api.patch(corePath('kube-system', 'configmaps', 'coredns'), { data: { Corefile: renderCorefile(this.#stubZones) } });
    for (const pod of await this.waitForReadyPods('kube-system', 'k8s-app=kube-dns', 1)) await this.#reloadDns(pod);
  }

  async #reloadDns(pod: Pod): Promise<void> {
    const ref = { namespace: 'kube-system', name: pod.metadata.name };
    const { directory } = await this.#locate(ref);
    const wanted = renderCorefile(this.#stubZones);
    const written = await becomesTrue(() => readFileSync(join(directory, 'volumes/config-volume/Corefile'), 'utf8') === wanted, 10_000);
    if (!written) throw new Error(`${this.name}: the new Corefile did not reach CoreDNS`);
    const reloads = async (): Promise<number> => (await this.logs(ref)).split('Reloading complete').length;
    const before = await reloads();
    // The same that its reload plug-in does on its own within three seconds.
    process.kill(await this.containerPid(ref), 'SIGUSR1');
    if (!(await becomesTrue(async () => (await reloads()) > before, 10_000))) throw new Error(`${this.name}: CoreDNS did not reload: ${await this.logs(ref)}`);
  }

  async #locate(ref: PodRef): Promise<{ readonly directory: string; readonly container: string }> {
    const pod = (await this.api.find(corePath(ref.namespace, 'pods', ref.name))) as Pod | undefined;
    const node = this.nodes.find((candidate) => candidate.name === pod?.spec.nodeName);
    if (pod === undefined || node === undefined) throw new Error(`${this.name}: pod ${ref.namespace}/${ref.name} is on no node of the testbed`);
    const entry = readdirSync(join(node.directory, 'pods')).find((name) => name.endsWith(`_${pod.metadata.uid}`));
    if (entry === undefined) throw new Error(`${this.name}: node ${node.name} has not seen pod ${ref.namespace}/${ref.name} yet`);
    return { directory: join(node.directory, 'pods', entry), container: ref.container ?? pod.spec.containers[0]?.name ?? '' };
  }
}

const isReady = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined && pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

function describePods(pods: readonly Pod[]): string {
  if (pods.length === 0) return 'there are none';
  return pods.map((pod) => `${pod.metadata.name}: ${pod.status?.phase ?? 'no status'} ${JSON.stringify((pod.status as { containerStatuses?: readonly { state?: unknown }[] } | undefined)?.containerStatuses?.map((status) => status.state) ?? [])}`).join('; ');
}

function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
