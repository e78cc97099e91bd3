import { KUBE_KINDS } from '#contracts/kube-objects';
import { LEAVE_ANNOTATION, LEFT_ANNOTATION } from '#contracts/spoke-api';
import { ADDRESS_FINALIZER, ADDRESS_MANAGER } from '#domain/addresses';
import { isFleetError } from '#domain/fleet';
import type { Kube, KubeKind, KubeObject } from '#ports';

import { CONTROLLER_NAME, DNS_NAME, GATEWAY_CLASS, NODE_NAME, SPOKE_NAMESPACE } from '../member-manifests/index.js';

/** Annotation with the hub's time (epoch ms) at which the spoke was asked. */
const ASKED_AT_ANNOTATION = 'spillway.dev/leave-asked-at';

/** Field manager of the request, so that a repeated installation does not take it back. */
const LEAVE_MANAGER = 'spillway-leave';

const SPOKE_PODS = 'app.kubernetes.io/name=spillway-spoke';

/** Where a departure stands. */
export type LeaveStage = { readonly kind: 'gone' } | { readonly kind: 'waiting'; readonly reason: string; readonly message: string };

/** One step of a departure. */
export interface LeaveStep {
  /** Names the request; the same for every step of one departure. */
  readonly requestId: string;
  readonly nowMs: number;
  /** How long the spoke, and after it its pods, may take before the departure goes on without them. */
  readonly waitMs: number;
}

/**
 * Takes a spoke out of its member with the member's help, as far as it gets now; call it again until nothing is left. Routes
 * go first: the controller serves an empty plan, nodes take their rules down and addresses go back; then pods, then what is
 * ours in the cluster. CustomResourceDefinitions stay, since users' objects are in them.
 */
export async function leaveMember(kube: Kube, step: LeaveStep): Promise<LeaveStage> {
  const namespace = await kube.find(KUBE_KINDS.namespace, { name: SPOKE_NAMESPACE });
  if (namespace !== undefined && namespace.metadata.deletionTimestamp === undefined) {
    const waiting = (await askSpoke(kube, namespace, step)) ?? (await endPods(kube, namespace, step));
    if (waiting !== undefined) return waiting;
  }
  await releaseObjects(kube);
  if (namespace === undefined) return { kind: 'gone' };
  await kube.remove(KUBE_KINDS.namespace, { name: SPOKE_NAMESPACE });
  if ((await kube.find(KUBE_KINDS.namespace, { name: SPOKE_NAMESPACE })) === undefined) return { kind: 'gone' };
  return { kind: 'waiting', reason: 'NamespaceTerminating', message: `The namespace ${SPOKE_NAMESPACE} is being deleted.` };
}

async function askSpoke(kube: Kube, namespace: KubeObject, step: LeaveStep): Promise<LeaveStage | undefined> {
  const annotations = namespace.metadata.annotations ?? {};
  if (annotations[LEAVE_ANNOTATION] !== step.requestId) {
    const asked = { [LEAVE_ANNOTATION]: step.requestId, [ASKED_AT_ANNOTATION]: String(step.nowMs) };
    await kube.apply(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SPOKE_NAMESPACE, annotations: asked } }, LEAVE_MANAGER);
    return { kind: 'waiting', reason: 'SpokeAsked', message: 'The spoke is asked to take its routes off.' };
  }
  const hasController = (await kube.find(KUBE_KINDS.deployment, { namespace: SPOKE_NAMESPACE, name: CONTROLLER_NAME })) !== undefined;
  if (annotations[LEFT_ANNOTATION] === step.requestId || !hasController || sinceAskedMs(namespace, step) >= step.waitMs) return undefined;
  return { kind: 'waiting', reason: 'SpokeLeaving', message: 'The spoke takes its routes, addresses and finalizers off.' };
}

const sinceAskedMs = (namespace: KubeObject, step: LeaveStep): number => step.nowMs - Number(namespace.metadata.annotations?.[ASKED_AT_ANNOTATION] ?? 0);

// Node agents go first: told by an empty plan, they take their table along; the controller outlives them to be asked.
async function endPods(kube: Kube, namespace: KubeObject, step: LeaveStep): Promise<LeaveStage | undefined> {
  const isLate = sinceAskedMs(namespace, step) >= 2 * step.waitMs;
  await kube.remove(KUBE_KINDS.daemonSet, { namespace: SPOKE_NAMESPACE, name: NODE_NAME });
  const agents = await countPods(kube, `${SPOKE_PODS},app.kubernetes.io/component=node`);
  if (agents > 0 && !isLate) return { kind: 'waiting', reason: 'NodeAgentsEnding', message: `${agents} node agents take their rules down.` };
  for (const name of [CONTROLLER_NAME, DNS_NAME]) await kube.remove(KUBE_KINDS.deployment, { namespace: SPOKE_NAMESPACE, name });
  const pods = await countPods(kube, SPOKE_PODS);
  if (pods > 0 && !isLate) return { kind: 'waiting', reason: 'PodsEnding', message: `${pods} pods of the spoke are ending.` };
  return undefined;
}

const countPods = async (kube: Kube, labelSelector: string): Promise<number> => (await kube.list(KUBE_KINDS.pod, { namespace: SPOKE_NAMESPACE, labelSelector })).length;

// What a healthy controller has already done; without it, this is all the help there is.
async function releaseObjects(kube: Kube): Promise<void> {
  for (const kind of [KUBE_KINDS.gateway, KUBE_KINDS.serviceCidr]) {
    for (const object of await listServed(kube, kind)) if (object.metadata.finalizers?.includes(ADDRESS_FINALIZER) === true) await dropFinalizer(kube, kind, object);
  }
  for (const address of await listServed(kube, KUBE_KINDS.ipAddress, `ipaddress.kubernetes.io/managed-by=${ADDRESS_MANAGER}`)) {
    await kube.remove(KUBE_KINDS.ipAddress, address.metadata, { uid: address.metadata.uid });
  }
  const gatewayClass = await kube.find(KUBE_KINDS.gatewayClass, { name: GATEWAY_CLASS });
  if (gatewayClass?.metadata.labels?.['app.kubernetes.io/managed-by'] === 'spillway') await kube.remove(KUBE_KINDS.gatewayClass, { name: GATEWAY_CLASS });
  await kube.remove(KUBE_KINDS.clusterRoleBinding, { name: CONTROLLER_NAME });
  await kube.remove(KUBE_KINDS.clusterRole, { name: CONTROLLER_NAME });
}

async function listServed(kube: Kube, kind: KubeKind, labelSelector?: string): Promise<readonly KubeObject[]> {
  try {
    return await kube.list(kind, { labelSelector });
  } catch (error) {
    if (isFleetError(error) && error.code === 'KUBE_NOT_FOUND') return [];
    throw error;
  }
}

async function dropFinalizer(kube: Kube, kind: KubeKind, object: KubeObject): Promise<void> {
  const finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== ADDRESS_FINALIZER);
  try {
    await kube.replace(kind, { ...object, metadata: { ...object.metadata, finalizers } });
  } catch (error) {
    // Somebody else wrote meanwhile, or it is gone: the next step looks again.
    if (!isFleetError(error) || (error.code !== 'KUBE_CONFLICT' && error.code !== 'KUBE_NOT_FOUND')) throw error;
  }
}

/** What stays in a member that was removed by force, for its owner to do by hand. */
export const LEFT_TO_DO: readonly string[] = [
  `kubectl delete namespace ${SPOKE_NAMESPACE}`,
  `kubectl delete clusterrole,clusterrolebinding ${CONTROLLER_NAME}`,
  `kubectl delete gatewayclass ${GATEWAY_CLASS}`,
  `kubectl delete ipaddresses -l ipaddress.kubernetes.io/managed-by=${ADDRESS_MANAGER}`,
  `take the finalizer ${ADDRESS_FINALIZER} off Gateways and ServiceCIDRs`,
  'nft delete table ip spillway (on every node)',
];
