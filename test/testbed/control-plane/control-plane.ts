import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { resolveBinary, type BinaryName } from '../binaries/index.js';
import { KubeApi } from '../kube-api/kube-api.js';
import { nthAddress } from '../machine-room/address-plan.js';
import type { MachineRoom } from '../machine-room/machine-room.js';
import { becomesTrue, logTail, type RoomProcess } from '../machine-room/room-process.js';
import { API_SERVER_PORT, apiServerFlags, controllerManagerFlags, etcdFlags, schedulerFlags, type ControlPlaneLayout } from './component-flags.js';
import { renderKubeconfig, type KubeAccess } from './kubeconfig.js';
import { createAuthority, createSigningKey, type Authority, type CertificateSubject, type KeyPair } from './pki.js';

/** Programs of a control plane beside etcd and the API server. */
export type ControllerName = 'kube-controller-manager' | 'kube-scheduler';

/** What one control plane is made of. */
export interface ControlPlaneOptions {
  readonly name: string;
  readonly address: string;
  readonly serviceCidr: string;
  readonly controllers: readonly ControllerName[];
}

const READY_MS_MAX = 60_000;

/** A real control plane: etcd, kube-apiserver and controllers in a network namespace of their own. */
export class ControlPlane {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
  readonly serviceCidr: string;
  readonly server: string;
  readonly caPem: string;
  readonly directory: string;
  readonly api: KubeApi;
  readonly #room: MachineRoom;
  readonly #authority: Authority;
  readonly #adminAccess: KubeAccess;
  readonly #processes = new Map<BinaryName, RoomProcess>();

  private constructor(room: MachineRoom, namespace: string, options: ControlPlaneOptions, keys: { readonly authority: Authority; readonly admin: KeyPair }) {
    this.#room = room;
    this.#authority = keys.authority;
    this.name = options.name;
    this.namespace = namespace;
    this.address = options.address;
    this.serviceCidr = options.serviceCidr;
    this.directory = controlPlaneDirectory(room, options.name);
    this.server = `https://${options.address}:${API_SERVER_PORT}`;
    this.caPem = keys.authority.certPem;
    this.#adminAccess = { server: this.server, caPem: this.caPem, user: keys.admin };
    this.api = new KubeApi(this.#adminAccess);
  }

  /** Starts a control plane in the room and returns once its API server is ready. */
  static async start(room: MachineRoom, options: ControlPlaneOptions): Promise<ControlPlane> {
    const [namespace, authority] = await Promise.all([room.addHost(`${options.name}-cp`, options.address), createAuthority(`${options.name}-ca`)]);
    const admin = await authority.issue({ commonName: 'admin', organizations: ['system:masters'] });
    const plane = new ControlPlane(room, namespace, options, { authority, admin });
    await plane.#writeFiles();
    await plane.#launch('etcd', etcdFlags(plane.#layout));
    await plane.startApiServer();
    for (const name of options.controllers) await plane.startController(name);
    return plane;
  }

  /** The administrator's kubeconfig. */
  kubeconfig(): string {
    return renderKubeconfig(this.name, this.#adminAccess);
  }

  /** A client certificate's access, such as a node's. */
  async clientAccess(commonName: string, organizations: readonly string[]): Promise<KubeAccess> {
    return { server: this.server, caPem: this.caPem, user: await this.#authority.issue({ commonName, organizations }) };
  }

  /** Starts the API server (again) and waits until it is ready. */
  async startApiServer(): Promise<void> {
    const process = await this.#launch('kube-apiserver', apiServerFlags(this.#layout));
    await this.#waitUntilReady(process);
  }

  /** Ends the API server at once, as a crash does; etcd keeps everything. */
  async stopApiServer(): Promise<void> {
    await this.#end('kube-apiserver');
  }

  async startController(name: ControllerName): Promise<void> {
    await this.#launch(name, name === 'kube-scheduler' ? schedulerFlags(this.#layout) : controllerManagerFlags(this.#layout));
  }

  async stopController(name: ControllerName): Promise<void> {
    await this.#end(name);
  }

  /** The pids of what runs now, by program. */
  pids(): Readonly<Partial<Record<BinaryName, number>>> {
    return Object.fromEntries([...this.#processes].map(([name, process]) => [name, process.pid]));
  }

  /** The log file of a program. */
  logFile(name: BinaryName): string {
    return join(this.directory, 'logs', `${name}.log`);
  }

  /** Drops connections; the room ends the processes. */
  close(): void {
    this.api.close();
  }

  get #layout(): ControlPlaneLayout {
    return { address: this.address, directory: this.directory, serviceCidr: this.serviceCidr };
  }

  async #launch(name: BinaryName, args: readonly string[]): Promise<RoomProcess> {
    await this.#end(name);
    const process = this.#room.start({ what: `${name} of ${this.name}`, command: await resolveBinary(name), args, namespace: this.namespace, logFile: this.logFile(name) });
    this.#processes.set(name, process);
    return process;
  }

  async #end(name: BinaryName): Promise<void> {
    const running = this.#processes.get(name);
    this.#processes.delete(name);
    if (running !== undefined) await this.#room.end(running);
  }

  async #waitUntilReady(process: RoomProcess): Promise<void> {
    let ended: string | undefined;
    void process.exited.then((how) => {
      ended = how;
    });
    const isReady = (): Promise<boolean> => this.api.send('GET', '/readyz').then(() => true, () => ended !== undefined);
    const inTime = await becomesTrue(isReady, READY_MS_MAX, 50);
    if (!inTime || ended !== undefined) throw new Error(`kube-apiserver of ${this.name} is not ready (${ended ?? `${READY_MS_MAX / 1000} s passed`}); the end of ${process.logFile}:\n${logTail(process.logFile)}`);
  }

  async #writeFiles(): Promise<void> {
    const frontProxy = await createAuthority(`${this.name}-front-proxy-ca`);
    const signing = await createSigningKey();
    const issue = (subject: CertificateSubject): Promise<KeyPair> => this.#authority.issue(subject);
    const [apiServer, kubeletClient, proxyClient, manager, scheduler] = await Promise.all([
      issue({ commonName: 'kube-apiserver', dnsNames: API_SERVER_NAMES, addresses: [this.address, nthAddress(this.serviceCidr, 1), '127.0.0.1'] }),
      issue({ commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] }),
      frontProxy.issue({ commonName: 'front-proxy-client' }),
      this.clientAccess('system:kube-controller-manager', []),
      this.clientAccess('system:kube-scheduler', []),
    ]);
    const files = {
      'pki/ca.crt': this.caPem,
      'pki/front-proxy-ca.crt': frontProxy.certPem,
      'pki/sa.key': signing.privatePem,
      'pki/sa.pub': signing.publicPem,
      ...pairFiles('apiserver', apiServer),
      ...pairFiles('apiserver-kubelet-client', kubeletClient),
      ...pairFiles('front-proxy-client', proxyClient),
      'controller-manager.kubeconfig': renderKubeconfig(this.name, manager),
      'scheduler.kubeconfig': renderKubeconfig(this.name, scheduler),
      'admin.kubeconfig': this.kubeconfig(),
    };
    mkdirSync(join(this.directory, 'pki'), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.directory, name), text, { mode: 0o600 });
  }
}

const API_SERVER_NAMES = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];

const controlPlaneDirectory = (room: MachineRoom, name: string): string => join(room.directory, name, 'control-plane');

const pairFiles = (name: string, pair: KeyPair): Record<string, string> => ({ [`pki/${name}.crt`]: pair.certPem, [`pki/${name}.key`]: pair.keyPem });
