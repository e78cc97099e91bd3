import { KUBE_KINDS } from '#contracts/kube-objects';
import { installationRequest, LEAVE_ANNOTATION, LEFT_ANNOTATION } from '#contracts/spoke-api';
import { FleetError } from '#domain/fleet';
import type { Clock, Kube } from '#ports';

import { ownAccountUid } from './own-account.js';

/** Where to ask, and for how long to wait for the answer. */
export interface LeaveOptions {
  readonly namespace: string;
  readonly waitMs: number;
}

/** The field manager of the request. */
const REQUEST_MANAGER = 'spillway-leave';
const POLL_MS = 500;

/**
 * Asks the controller of this installation to leave, and returns when it has said that nodes, addresses and finalizers are
 * clean. Throws LEAVE_TIMED_OUT where it does not say so in time; the request stays.
 */
export async function askToLeave(kube: Kube, clock: Clock, { namespace, waitMs }: LeaveOptions): Promise<void> {
  const request = installationRequest(await ownAccountUid(kube));
  await kube.apply(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, annotations: { [LEAVE_ANNOTATION]: request } } }, REQUEST_MANAGER);
  const deadlineMs = clock.monotonicMs() + waitMs;
  while ((await kube.find(KUBE_KINDS.namespace, { name: namespace }))?.metadata.annotations?.[LEFT_ANNOTATION] !== request) {
    if (clock.monotonicMs() >= deadlineMs) {
      throw new FleetError('LEAVE_TIMED_OUT', 'transient', `The controller has not taken its addresses, finalizers and the nodes' rules off within ${waitMs / 1000} s. See that the pod spillway-spoke-controller of ${namespace} is ready, then try again; or go on without it (helm uninstall --no-hooks), and do by hand what docs/operations.md lists.`);
    }
    await clock.sleep(POLL_MS);
  }
}
