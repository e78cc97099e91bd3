import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { resolveBinary, KUBERNETES_VERSION } from '../binaries/index.js';
import { API_SERVER_PORT } from '../control-plane/component-flags.js';
import type { ControlPlane } from '../control-plane/control-plane.js';
import { renderKubeconfig } from '../control-plane/kubeconfig.js';
import type { ImageProgram, KubeletConfig } from '../kubelet/kubelet-config.js';
import { buildNode } from '../kubelet/node-registration.js';
import type { MachineRoom } from '../machine-room/machine-room.js';
import { testbedProgram } from '../machine-room/project-paths.js';
import type { RoomProcess } from '../machine-room/room-process.js';
import { runCommand, runIp, setKernelParameters } from '../machine-room/run-command.js';
import { RUNS_DIRECTORY } from '../machine-room/run-state.js';

/** What one node is made of. */
export interface NodeOptions {
  readonly name: string;
  readonly address: string;
  readonly podCidr: string;
  /** The pod range of the whole cluster, by which kube-proxy tells its own pods from others. */
  readonly clusterPodCidr: string;
  readonly dnsAddress: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly images: readonly ImageProgram[];
  readonly bindDirectories: readonly string[];
  readonly kubeProxy: boolean;
}

/** A node: a network namespace on the machine room's link, with a kubelet and a real kube-proxy in it. */
export class TestbedNode {
  readonly name: string;
  readonly address: string;
  readonly podCidr: string;
  /** Its network namespace, for `nsenter --net=/run/netns/…`. */
  readonly namespace: string;
  /** Pods, logs, host paths. */
  readonly directory: string;
  readonly #room: MachineRoom;
  readonly #plane: ControlPlane;
  readonly #options: NodeOptions;
  #kubelet: RoomProcess | undefined;
  #kubeProxy: RoomProcess | undefined;

  private constructor(room: MachineRoom, plane: ControlPlane, namespace: string, options: NodeOptions) {
    this.#room = room;
    this.#plane = plane;
    this.#options = options;
    this.name = options.name;
    this.address = options.address;
    this.podCidr = options.podCidr;
    this.namespace = namespace;
    this.directory = join(room.directory, plane.name, options.name);
  }

  /** Makes a node and registers it; kubelet and kube-proxy are started by {@link startPrograms}. */
  static async create(room: MachineRoom, plane: ControlPlane, options: NodeOptions): Promise<TestbedNode> {
    const namespace = await room.addHost(`${plane.name}-${options.name}`, options.address);
    // Pods' links inherit this: the node answers for the pods' gateway.
    await setKernelParameters(namespace, ['net.ipv4.conf.default.proxy_arp=1']);
    await runIp([`route add default via ${plane.address}`], namespace);
    const node = new TestbedNode(room, plane, namespace, options);
    mkdirSync(join(node.directory, 'host'), { recursive: true });
    await node.#writeFiles();
    return node;
  }

  /** Starts the node's programs, or those of them that do not run. */
  async startPrograms(): Promise<void> {
    await this.startKubelet();
    if (this.#options.kubeProxy) await this.startKubeProxy();
  }

  async startKubelet(): Promise<void> {
    if (this.#kubelet !== undefined) return;
    this.#kubelet = this.#room.start({
      what: `kubelet of ${this.#plane.name}/${this.name}`,
      command: process.execPath,
      args: ['--max-semi-space-size=1', testbedProgram('kubelet/main.js'), join(this.directory, 'kubelet.json')],
      namespace: this.namespace,
      logFile: join(this.directory, 'kubelet.log'),
    });
  }

  /** Ends the kubelet at once; its pods run on, unwatched. The next start runs them anew. */
  async stopKubelet(): Promise<void> {
    if (this.#kubelet !== undefined) await this.#room.end(this.#kubelet);
    this.#kubelet = undefined;
  }

  async startKubeProxy(): Promise<void> {
    if (this.#kubeProxy !== undefined) return;
    this.#kubeProxy = this.#room.start({
      what: `kube-proxy of ${this.#plane.name}/${this.name}`,
      command: await resolveBinary('kube-proxy'),
      args: [
        `--kubeconfig=${join(this.directory, 'kube-proxy.kubeconfig')}`,
        `--hostname-override=${this.name}`,
        '--proxy-mode=nftables',
        `--cluster-cidr=${this.#options.clusterPodCidr}`,
        // These would write settings of the whole machine.
        '--conntrack-max-per-core=0',
        '--conntrack-tcp-timeout-established=0s',
        '--conntrack-tcp-timeout-close-wait=0s',
      ],
      namespace: this.namespace,
      logFile: join(this.directory, 'kube-proxy.log'),
    });
  }

  async stopKubeProxy(): Promise<void> {
    if (this.#kubeProxy !== undefined) await this.#room.end(this.#kubeProxy);
    this.#kubeProxy = undefined;
  }

  /** Runs a command to its end in the node's network namespace and returns what it printed. */
  exec(command: readonly string[], timeoutMs = 30_000): Promise<string> {
    return runCommand('nsenter', [`--net=/run/netns/${this.namespace}`, '--', ...command], { timeoutMs });
  }

  /** Cuts the node off from everything but its own pods. */
  unplug(): Promise<void> {
    return this.#room.setPlugged(this.namespace, false);
  }

  /** Plugs an unplugged node in again. */
  async plug(): Promise<void> {
    await this.#room.setPlugged(this.namespace, true);
    await this.restoreRoutes();
  }

  /** The routes that the kernel drops with a link that goes down; set by whoever lays the network. */
  restoreRoutes: () => Promise<void> = async () => undefined;

  /** The pids of what runs now. */
  pids(): Readonly<Record<string, number>> {
    return { ...(this.#kubelet === undefined ? {} : { kubelet: this.#kubelet.pid }), ...(this.#kubeProxy === undefined ? {} : { 'kube-proxy': this.#kubeProxy.pid }) };
  }

  async #writeFiles(): Promise<void> {
    const [kubelet, proxy] = await Promise.all([this.#plane.clientAccess(`system:node:${this.name}`, ['system:nodes']), this.#plane.clientAccess('system:kube-proxy', [])]);
    const config: KubeletConfig = {
      clusterName: this.#plane.name,
      nodeName: this.name,
      nodeAddress: this.address,
      podCidr: this.podCidr,
      dnsAddress: this.#options.dnsAddress,
      kubernetesVersion: KUBERNETES_VERSION,
      access: kubelet,
      ...(this.#options.kubeProxy ? {} : { directApiServer: { host: this.#plane.address, port: String(API_SERVER_PORT) } }),
      directory: this.directory,
      hiddenDirectories: [RUNS_DIRECTORY, '/run/netns'],
      podNamespacePrefix: `${this.namespace}-p`,
      labels: this.#options.labels,
      capacity: this.#options.capacity,
      images: this.#options.images,
      bindDirectories: this.#options.bindDirectories,
    };
    writeFileSync(join(this.directory, 'kubelet.json'), JSON.stringify(config), { mode: 0o600 });
    writeFileSync(join(this.directory, 'kube-proxy.kubeconfig'), renderKubeconfig(this.#plane.name, proxy), { mode: 0o600 });
    // kube-proxy gives up early where its node is not known yet.
    await this.#plane.api.ensure('/api/v1/nodes', buildNode(config, new Date().toISOString()));
  }
}
