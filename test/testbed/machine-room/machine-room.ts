import { join } from 'node:path';

import { roomAddresses, type RoomAddresses } from './address-plan.js';
import { endAbandonedRuns, endRun, rootLinkName } from './end-run.js';
import { startReaper } from './reaper.js';
import { endProcess, startProcess, type ProcessSpec, type RoomProcess } from './room-process.js';
import { runIp, setKernelParameters } from './run-command.js';
import { createRun, NAMESPACE_PREFIX, RUNS_DIRECTORY, saveRun, type RunState } from './run-state.js';

const HOST_PARAMETERS = [
  'net.ipv4.ip_forward=1',
  'net.ipv4.conf.all.rp_filter=0',
  'net.ipv4.conf.default.rp_filter=0',
  'net.ipv4.conf.all.send_redirects=0',
  'net.ipv4.conf.default.send_redirects=0',
  'net.ipv4.conf.all.accept_redirects=0',
  'net.ipv4.conf.default.accept_redirects=0',
];

/**
 * One run's machine room: a network namespace with a bridge, on it one link to the root network namespace and one to each
 * host. A host is a network namespace with one address. Nothing in it has a way out of this machine.
 */
export class MachineRoom {
  readonly addresses: RoomAddresses;
  readonly directory: string;
  #state: RunState;
  #ports = 0;
  readonly #stopReaper: () => void;

  private constructor(state: RunState, stopReaper: () => void) {
    this.#state = state;
    this.addresses = roomAddresses(state.slot);
    this.directory = join(RUNS_DIRECTORY, state.runId);
    this.#stopReaper = stopReaper;
  }

  /** Opens a room, after cleaning up behind runs whose owners are gone. */
  static async open(options: { readonly detached?: boolean; readonly reaper?: boolean } = {}): Promise<MachineRoom> {
    await endAbandonedRuns();
    const state = createRun(options.detached ?? false);
    const stopReaper = options.detached === true || options.reaper === false ? () => undefined : startReaper(state.runId);
    const room = new MachineRoom(state, stopReaper);
    try {
      await room.#build();
    } catch (error) {
      await room.close();
      throw error;
    }
    return room;
  }

  get runId(): string {
    return this.#state.runId;
  }

  get slot(): number {
    return this.#state.slot;
  }

  /** The full name of one of this run's namespaces. */
  namespaceName(name: string): string {
    return `${NAMESPACE_PREFIX}${this.runId}-${name}`;
  }

  /** Adds a host to the room; returns its namespace's full name. It has `eth0` and a loopback, and forwards packets. */
  async addHost(name: string, address: string): Promise<string> {
    const namespace = this.namespaceName(name);
    const port = `p${this.#ports++}`;
    const room = this.namespaceName('room');
    await runIp([`netns add ${namespace}`]);
    await runIp([`link add ${port} type veth peer name eth0 netns ${namespace}`, `link set ${port} master br0 up`], room);
    await setKernelParameters(namespace, HOST_PARAMETERS);
    await runIp([`link set lo up`, `addr add ${address}/19 dev eth0`, `link set eth0 up`], namespace);
    return namespace;
  }

  /** Cuts a host off from the room, or plugs it in again. */
  async setPlugged(namespace: string, plugged: boolean): Promise<void> {
    await runIp([`link set eth0 ${plugged ? 'up' : 'down'}`], namespace);
  }

  /** Starts a process and records it, so that it is found again whatever happens to this one. */
  start(spec: ProcessSpec): RoomProcess {
    const started = startProcess(spec);
    this.#state = { ...this.#state, processes: [...this.#state.processes, { pid: started.pid, startTicks: started.startTicks, what: spec.what }] };
    saveRun(this.#state);
    return started;
  }

  /** Ends a process that {@link start} started. */
  async end(target: RoomProcess, graceMs = 0): Promise<void> {
    await endProcess(target, graceMs);
    this.#state = { ...this.#state, processes: this.#state.processes.filter((entry) => entry.pid !== target.pid) };
    saveRun(this.#state);
  }

  /** Notes a fact that `status` prints. */
  note(facts: Readonly<Record<string, string>>): void {
    this.#state = { ...this.#state, facts: { ...this.#state.facts, ...facts } };
    saveRun(this.#state);
  }

  /** Ends everything in the room and the room itself. */
  async close(): Promise<void> {
    await endRun(this.#state);
    this.#stopReaper();
  }

  async #build(): Promise<void> {
    const room = this.namespaceName('room');
    const link = rootLinkName(this.runId);
    await runIp([`netns add ${room}`]);
    await runIp([`link set lo up`, `link add br0 type bridge forward_delay 0`, `link set br0 up`], room);
    await runIp([`link add ${link} type veth peer name root netns ${room}`, `addr add ${this.addresses.hub}/19 dev ${link}`, `link set ${link} up`]);
    await runIp([`link set root master br0 up`], room);
  }
}
