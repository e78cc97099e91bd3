import { Registry } from 'prom-client';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import { createLogger, SystemClock, SystemRandom, type Logger } from '#platform';
import type { Clock, HubLink, Kube, KubeKind, KubeObject, Random } from '#ports';

import { Controller } from '../controller/controller.js';
import { DEFAULT_CONTROLLER_OPTIONS, type ControllerOptions } from '../controller/controller-options.js';
import { SimulatedNodes } from './simulated-nodes.js';

/** What a simulated member is made of. */
export interface SimulatedMemberOptions {
  /** An API server, in memory or real, that holds nothing of Spillway's yet. */
  readonly kube: Kube;
  readonly link: HubLink;
  readonly joinToken: string;
  /** Names of its nodes; they acknowledge at once. */
  readonly nodes: readonly string[];
  readonly region?: string;
  readonly serviceCidr?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly controller?: Partial<ControllerOptions>;
}

/** A running simulated member. */
export interface SimulatedMember {
  readonly controller: Controller;
  readonly nodes: SimulatedNodes;
  stop(): Promise<void>;
}

/**
 * Starts a member cluster without machines: the real controller role over an API server that the caller brings, and nodes
 * that have no kernel. For machines without root, and for many members in one process.
 */
export async function startSimulatedMember(options: SimulatedMemberOptions): Promise<SimulatedMember> {
  const clock = options.clock ?? new SystemClock();
  const settings = { ...DEFAULT_CONTROLLER_OPTIONS, ...options.controller };
  await furnish(options, settings.namespace);
  const nodes = new SimulatedNodes(clock);
  for (const name of options.nodes) nodes.connect(name);
  const controller = new Controller(
    { kube: options.kube, link: options.link, clock, random: options.random ?? new SystemRandom(), logger: options.logger ?? createLogger({ app: 'spoke-simulated', level: 'silent' }), registry: new Registry(), server: nodes },
    settings,
  );
  controller.start();
  return {
    controller,
    nodes,
    stop: async () => {
      await controller.stop();
      await nodes.close();
    },
  };
}

// What a real cluster and its installer would have put there.
async function furnish(options: SimulatedMemberOptions, namespace: string): Promise<void> {
  const { kube } = options;
  await put(kube, KUBE_KINDS.namespace, { name: namespace }, {});
  await put(kube, KUBE_KINDS.serviceCidr, { name: 'kubernetes' }, { spec: { cidrs: [options.serviceCidr ?? '172.30.0.0/16'] }, status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' }] } });
  await put(kube, KUBE_KINDS.gatewayClass, { name: 'cluster-ip' }, { spec: { controllerName: 'spillway.dev/cluster-ip' } });
  await put(kube, KUBE_KINDS.secret, { namespace, name: 'spillway-join' }, { data: { token: Buffer.from(options.joinToken).toString('base64') } });
  for (const name of options.nodes) {
    const labels = { 'topology.kubernetes.io/region': options.region ?? '' };
    await put(kube, KUBE_KINDS.node, { name, labels }, { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    const agent = { 'app.kubernetes.io/name': 'spillway-spoke', 'app.kubernetes.io/component': 'node' };
    await put(kube, KUBE_KINDS.pod, { namespace, name: `spillway-spoke-node-${name}`, labels: agent }, { spec: { nodeName: name, containers: [] }, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } });
  }
}

async function put(kube: Kube, kind: KubeKind, metadata: KubeObject['metadata'], body: { readonly spec?: unknown; readonly status?: unknown; readonly data?: unknown }): Promise<void> {
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const { status, ...rest } = body;
  try {
    const created = await kube.create(kind, { apiVersion, kind: kind.kind, metadata, ...rest });
    if (status !== undefined) await kube.replaceStatus(kind, { ...created, status });
  } catch (error) {
    // A member that starts again over the same API server finds its furniture there.
    if (!isFleetError(error) || error.code !== 'KUBE_ALREADY_EXISTS') throw error;
  }
}
