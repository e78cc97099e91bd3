import { KUBE_KINDS } from '#contracts/kube-objects';
import { condition, type MemberCondition } from '#domain/membership';
import type { Kube, KubeObject } from '#ports';

import { CONTROLLER_NAME, DNS_NAME, NODE_NAME, SPOKE_NAMESPACE, type Manifest } from '../member-manifests/index.js';

interface WorkloadStatus {
  readonly availableReplicas?: number;
  readonly numberReady?: number;
  readonly desiredNumberScheduled?: number;
}

/** Whether everything of the spoke is there and its pods are up, as the member's own controllers count them. */
export async function observeSpokeRunning(kube: Kube, manifests: readonly Manifest[]): Promise<MemberCondition> {
  const type = 'SpokeRunning';
  const found = await Promise.all(manifests.map(({ kind, object }) => kube.find(kind, object.metadata)));
  const missing = manifests.filter((_, at) => found[at] === undefined).map(({ object }) => `${object.kind} ${object.metadata.name}`);
  if (missing.length > 0) return condition(type, 'False', 'NotInstalled', `Parts of the spoke are not there; they are installed again: ${missing.join(', ')}.`);
  const ready = (kind: string, name: string): Ready => readyOf(found.find((object) => object?.kind === kind && object.metadata.name === name));
  const [controller, dns, node] = [ready(KUBE_KINDS.deployment.kind, CONTROLLER_NAME), ready(KUBE_KINDS.deployment.kind, DNS_NAME), ready(KUBE_KINDS.daemonSet.kind, NODE_NAME)];
  const counts = `controller ${controller.ready}, dns ${dns.ready}, nodes ${node.ready} of ${node.wanted}`;
  if (controller.ready > 0 && dns.ready > 0 && node.ready >= node.wanted) return condition(type, 'True', 'Running', `Ready: ${counts}.`);
  return condition(type, 'False', 'NotReady', `Ready: ${counts}. Look at the pods of ${SPOKE_NAMESPACE}.`);
}

interface Ready {
  readonly ready: number;
  readonly wanted: number;
}

function readyOf(object: KubeObject | undefined): Ready {
  const status: WorkloadStatus = object?.['status'] ?? {};
  return { ready: status.availableReplicas ?? status.numberReady ?? 0, wanted: status.desiredNumberScheduled ?? 0 };
}
