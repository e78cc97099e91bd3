import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { corePath, type KubeApi } from '../kube-api/kube-api.js';
import { processEnvironment } from '../machine-room/process-identity.js';
import { runCommand } from '../machine-room/run-command.js';
import { buildContainerEnv, expandReferences } from './container-env.js';
import { besideContainer, containerCommand, type ContainerRoot } from './container-root.js';
import { ContainerRunner, type PreparedCommand } from './container-runner.js';
import type { PodFacts } from './field-refs.js';
import { findImage, type KubeletConfig } from './kubelet-config.js';
import type { DataKind, ObjectSource } from './object-source.js';
import { buildPodStatus, isInitDone, willRestart } from './pod-status.js';
import { createSandbox, removeSandbox, type PodAddresses, type PodSandbox } from './pod-sandbox.js';
import type { Container, LifecycleHandler, Pod, ServiceObject } from './pod-types.js';
import { PodVolumes } from './pod-volumes.js';
import { probeHttp } from './run-probe.js';
import { renderResolvConf } from './resolv-conf.js';
import { StatusReporter } from './status-reporter.js';

const RETRY_MS = 1_000;

/** What all pods of a node share. */
export interface NodeContext {
  readonly config: KubeletConfig;
  readonly api: KubeApi;
  readonly objects: ObjectSource;
  readonly addresses: PodAddresses;
  services(): readonly ServiceObject[];
  /** A number that no other pod of this kubelet has: names of links and namespaces are short. */
  nextPodNumber(): number;
}

/** Runs one pod from its first sight to its last: network, volumes, containers, status, deletion. */
export class PodWorker {
  readonly #node: NodeContext;
  readonly #reporter: StatusReporter;
  readonly #directory: string;
  readonly #startTime = new Date().toISOString();
  #pod: Pod;
  #facts: PodFacts;
  #sandbox: PodSandbox | undefined;
  #sandboxReady = false;
  #volumes: PodVolumes | undefined;
  #unfollow: (() => void)[] = [];
  #initRunners: ContainerRunner[] = [];
  #runners: ContainerRunner[] = [];
  #network: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #initProgress: (() => void) | undefined;

  constructor(pod: Pod, node: NodeContext) {
    this.#pod = pod;
    this.#node = node;
    this.#reporter = new StatusReporter(node.api, pod);
    this.#directory = join(node.config.directory, 'pods', `${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}`);
    this.#facts = { podIp: node.config.nodeAddress, hostIp: node.config.nodeAddress };
    mkdirSync(this.#directory, { recursive: true });
  }

  /** Brings the pod up; a failure on the way is shown in its status and tried again. */
  async start(): Promise<void> {
    this.#initRunners = (this.#pod.spec.initContainers ?? []).map((container) => this.#runner(container));
    this.#runners = this.#pod.spec.containers.map((container) => this.#runner(container));
    this.#network = this.#createNetwork();
    await this.#network;
    if (this.#ending !== undefined) return;
    this.#followVariables();
    this.#volumes = new PodVolumes(this.#pod, { api: this.#node.api, objects: this.#node.objects, facts: this.#facts, podDirectory: this.#directory, hostDirectory: join(this.#node.config.directory, 'host') });
    const prepared = this.#volumes.prepare();
    this.#report();
    await prepared;
    for (const runner of this.#initRunners) await this.#runInit(runner);
    if (this.#ending !== undefined) return;
    for (const runner of this.#runners) runner.start();
  }

  /** Takes the pod's newest object: its deletion, its labels, its gates. */
  update(pod: Pod): void {
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined) void this.end((pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000);
    else this.#report();
  }

  /** Ends the pod: containers by their grace, then the object, then everything on the node. */
  end(graceMs: number): Promise<void> {
    this.#ending ??= this.#end(graceMs);
    return this.#ending;
  }

  /** Ends at once what is left of a pod whose object is gone already. */
  async discard(): Promise<void> {
    for (const runner of [...this.#initRunners, ...this.#runners]) void runner.stop(0);
    await this.end(0);
  }

  async #end(graceMs: number): Promise<void> {
    const all = [...this.#initRunners, ...this.#runners];
    await Promise.all(all.map((runner) => this.#stopRunner(runner, graceMs)));
    this.#initProgress?.();
    this.#volumes?.close();
    for (const unfollow of this.#unfollow.splice(0)) unfollow();
    this.#report();
    await this.#reporter.flush();
    // A pod may be deleted while its network is being made; what is made then must not be forgotten.
    await this.#network;
    if (this.#sandbox !== undefined) {
      await removeSandbox(this.#sandbox);
      this.#node.addresses.giveBack(this.#sandbox.podIp);
    }
    if (this.#pod.metadata.deletionTimestamp !== undefined) await this.#removeObject();
    rmSync(join(this.#directory, 'volumes'), { recursive: true, force: true });
  }

  async #removeObject(): Promise<void> {
    const { namespace = '', name, uid } = this.#pod.metadata;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
    // A conflict means that another pod has the name by now: ours is gone.
    await this.#node.api.remove(corePath(namespace, 'pods', name), body).catch(() => undefined);
  }

  async #stopRunner(runner: ContainerRunner, graceMs: number): Promise<void> {
    const startedMs = performance.now();
    const hook = runner.container.lifecycle?.preStop;
    if (hook !== undefined && runner.pid !== undefined && graceMs > 0) await this.#runHook(hook, runner, graceMs);
    await runner.stop(Math.max(0, graceMs - (performance.now() - startedMs)));
  }

  async #runHook(hook: LifecycleHandler, runner: ContainerRunner, graceMs: number): Promise<void> {
    const pid = runner.pid ?? 0;
    if (hook.sleep !== undefined) await new Promise((resolve) => setTimeout(resolve, Math.min((hook.sleep?.seconds ?? 0) * 1000, graceMs)));
    if (hook.httpGet !== undefined) await probeHttp(hook.httpGet, { podIp: this.#facts.podIp, container: runner.container, pid }, graceMs);
    const [program, ...args] = hook.exec === undefined ? [] : besideContainer(pid, hook.exec.command);
    if (program !== undefined) await runCommand(program, args, { timeoutMs: graceMs, env: { ...processEnvironment(pid) } }).catch(() => undefined);
  }

  async #createNetwork(): Promise<void> {
    if (this.#pod.spec.hostNetwork !== true) {
      this.#sandbox = await createSandboxWithRetry(this.#node);
      this.#facts = { ...this.#facts, podIp: this.#sandbox.podIp };
    }
    this.#sandboxReady = true;
  }

  async #runInit(runner: ContainerRunner): Promise<void> {
    if (this.#ending !== undefined) return;
    const done = new Promise<void>((resolve) => {
      this.#initProgress = () => {
        if (this.#ending !== undefined || isInitDone(runner)) resolve();
      };
    });
    runner.start();
    await done;
  }

  /** Follows what variables come from, so that it is known before the container starts. */
  #followVariables(): void {
    const retry = (): void => {
      for (const runner of [...this.#initRunners, ...this.#runners]) if (runner.state.kind === 'waiting' && runner.state.reason === 'CreateContainerConfigError') runner.start();
    };
    for (const { kind, name } of variableSources(this.#pod)) this.#unfollow.push(this.#node.objects.follow(kind, this.#pod.metadata.namespace ?? '', name, retry));
  }

  #runner(container: Container): ContainerRunner {
    const logFile = join(this.#directory, `${container.name}.log`);
    const runner: ContainerRunner = new ContainerRunner(container, {
      podIp: () => this.#facts.podIp,
      logFile,
      prepare: () => this.#prepare(container),
      mayRestart: (exitCode) => this.#mayRestart(container, exitCode),
      onChange: () => this.#onContainerChange(runner),
    });
    return runner;
  }

  #mayRestart(container: Container, exitCode: number): boolean {
    if (this.#ending !== undefined) return false;
    if (container.restartPolicy === 'Always') return true;
    if (this.#pod.spec.initContainers?.includes(container) === true) return exitCode !== 0 && this.#pod.spec.restartPolicy !== 'Never';
    return willRestart(this.#pod, { kind: 'terminated', exitCode, startedAt: '', finishedAt: '' });
  }

  #prepare(container: Container): PreparedCommand {
    const image = findImage(this.#node.config.images, container.image);
    if (image === undefined) return { reason: 'ErrImagePull', message: `the testbed has no program for image ${container.image}` };
    const { namespace = '' } = this.#pod.metadata;
    const env = buildContainerEnv(this.#pod, container, { facts: this.#facts, services: this.#node.services(), find: (kind, name) => this.#node.objects.current(kind, namespace, name) });
    if (typeof env === 'string') return { reason: 'CreateContainerConfigError', message: env };
    const command = container.command === undefined || container.command.length === 0 ? image.entrypoint : container.command.map((part) => expandReferences(part, env));
    const args = (container.args ?? []).map((part) => expandReferences(part, env));
    return {
      command: containerCommand(this.#root(container), this.#sandbox?.namespace ?? undefined, [...command, ...args]),
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', HOSTNAME: this.#hostname(), ...image.env, ...env, ...this.#testbedEnv() },
    };
  }

  #testbedEnv(): Record<string, string> {
    const direct = this.#node.config.directApiServer;
    return {
      ...(direct === undefined ? {} : { KUBERNETES_SERVICE_HOST: direct.host, KUBERNETES_SERVICE_PORT: direct.port }),
      TESTBED_CLUSTER: this.#node.config.clusterName,
      TESTBED_NODE: this.#node.config.nodeName,
      TESTBED_POD_NAMESPACE: this.#pod.metadata.namespace ?? '',
    };
  }

  #hostname(): string {
    if (this.#pod.spec.hostNetwork === true) return this.#node.config.nodeName;
    return this.#pod.spec.hostname ?? this.#pod.metadata.name;
  }

  #root(container: Container): ContainerRoot {
    return {
      scaffold: join(this.#directory, 'roots', container.name),
      hostname: this.#hostname(),
      resolvConf: renderResolvConf(this.#pod, this.#node.config.dnsAddress),
      hosts: `127.0.0.1 localhost\n${this.#facts.podIp} ${this.#hostname()}\n`,
      mounts: (container.volumeMounts ?? []).map((mount) => ({
        from: join(this.#volumes?.path(mount.name) ?? '', mount.subPath ?? ''),
        to: mount.mountPath,
        readOnly: mount.readOnly === true,
      })),
      hiddenDirectories: this.#node.config.hiddenDirectories,
      bindDirectories: this.#node.config.bindDirectories,
      workingDirectory: container.workingDir ?? '/',
    };
  }

  #onContainerChange(runner: ContainerRunner): void {
    this.#initProgress?.();
    if (runner.pid !== undefined) writeFileSync(join(this.#directory, `${runner.container.name}.pid`), JSON.stringify(runner.identity));
    this.#report();
  }

  #report(): void {
    const seen = { pod: this.#pod, facts: this.#facts, startTime: this.#startTime, sandboxReady: this.#sandboxReady, waitingFor: this.#volumes?.missing, initRunners: this.#initRunners, runners: this.#runners };
    this.#reporter.report(buildPodStatus(seen, new Date().toISOString()));
  }
}

async function createSandboxWithRetry(node: NodeContext): Promise<PodSandbox> {
  for (;;) {
    const podIp = node.addresses.take();
    const number = node.nextPodNumber();
    const namespace = `${node.config.podNamespacePrefix}${number}`;
    try {
      if (podIp === undefined) throw new Error(`node ${node.config.nodeName} has no free pod address`);
      return await createSandbox(namespace, `pod${number}`, podIp);
    } catch (error) {
      process.stderr.write(`pod network ${namespace}: ${String(error)}\n`);
      if (podIp !== undefined) {
        await removeSandbox({ namespace, podIp });
        node.addresses.giveBack(podIp);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function variableSources(pod: Pod): readonly { readonly kind: DataKind; readonly name: string }[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return containers.flatMap((container) => [
    ...(container.envFrom ?? []).flatMap((from) => [from.configMapRef && { kind: 'configmaps' as const, name: from.configMapRef.name }, from.secretRef && { kind: 'secrets' as const, name: from.secretRef.name }]),
    ...(container.env ?? []).flatMap(({ valueFrom }) => [valueFrom?.configMapKeyRef && { kind: 'configmaps' as const, name: valueFrom.configMapKeyRef.name }, valueFrom?.secretKeyRef && { kind: 'secrets' as const, name: valueFrom.secretKeyRef.name }]),
  ]).filter((source) => source !== undefined);
}
