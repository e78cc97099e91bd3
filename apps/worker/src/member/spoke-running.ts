import { KUBE_KINDS } from '#contracts/kube-objects';
import { condition, type MemberCondition } from '#domain/membership';
import type { Kube, KubeKind } from '#ports';

import { CONTROLLER_NAME, DNS_NAME, NODE_NAME, SPOKE_NAMESPACE } from '../member-manifests/index.js';

interface WorkloadStatus {
  readonly availableReplicas?: number;
  readonly numberReady?: number;
  readonly desiredNumberScheduled?: number;
}

/** Whether the spoke's pods are up, as the member's own controllers count them. */
export async function observeSpokeRunning(kube: Kube): Promise<MemberCondition> {
  const [controller, dns, node] = await Promise.all([readyOf(kube, KUBE_KINDS.deployment, CONTROLLER_NAME), readyOf(kube, KUBE_KINDS.deployment, DNS_NAME), readyOf(kube, KUBE_KINDS.daemonSet, NODE_NAME)]);
  const type = 'SpokeRunning';
  if (controller === undefined || dns === undefined || node === undefined) return condition(type, 'False', 'NotInstalled', 'Parts of the spoke are not there; they are installed again.');
  const counts = `controller ${controller.ready}, dns ${dns.ready}, nodes ${node.ready} of ${node.wanted}`;
  if (controller.ready > 0 && dns.ready > 0 && node.ready >= node.wanted) return condition(type, 'True', 'Running', `Ready: ${counts}.`);
  return condition(type, 'False', 'NotReady', `Ready: ${counts}. Look at the pods of ${SPOKE_NAMESPACE}.`);
}

async function readyOf(kube: Kube, kind: KubeKind, name: string): Promise<{ readonly ready: number; readonly wanted: number } | undefined> {
  const object = await kube.find(kind, { namespace: SPOKE_NAMESPACE, name });
  if (object === undefined) return undefined;
  const status: WorkloadStatus = object['status'] ?? {};
  return { ready: status.availableReplicas ?? status.numberReady ?? 0, wanted: status.desiredNumberScheduled ?? 0 };
}
