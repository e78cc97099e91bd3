import { KUBE_KINDS } from '#contracts/kube-objects';
import type { ClusterRecord, Kube, KubeObject } from '#ports';

import { buildGatewayClass, buildMemberManifests, CONTROLLER_NAME, GATEWAY_CLASS, readCrds, type Manifest } from '../member-manifests/index.js';
import { ensureJoinSecret, FIELD_MANAGER } from './join-secret.js';
import { isServed } from './observe-preflight.js';
import type { WorkerParts } from './worker-parts.js';

/** Annotation of pods that says what they were started with and cannot learn anew: another value rolls them out. */
const STARTED_WITH_ANNOTATION = 'spillway.dev/started-with';

/** Makes the member hold exactly our objects, by server-side apply: what is already so is not written. */
export async function installSpoke(kube: Kube, record: ClusterRecord, parts: WorkerParts): Promise<void> {
  const applied: KubeObject[] = [];
  const apply = async (manifests: readonly Manifest[]): Promise<void> => {
    for (const { kind, object } of manifests) applied.push(await kube.apply(kind, withStart(object, applied), FIELD_MANAGER));
  };
  const [namespace, ...rest] = buildMemberManifests(parts.settings.spoke);
  await apply([...readCrds(), ...(namespace === undefined ? [] : [namespace])]);
  await ensureJoinSecret(kube, record, parts);
  await apply(rest);
  // The Gateway API's own definitions are the cluster owner's; our class comes once they are there. One of that name stays as
  // it is: it is ours already, or somebody else's.
  const hasClass = (await kube.find(KUBE_KINDS.gatewayClass, { name: GATEWAY_CLASS })) !== undefined;
  if (!hasClass && (await isServed(kube, KUBE_KINDS.gatewayClass))) await apply([buildGatewayClass()]);
}

interface Workload {
  readonly template: { readonly metadata: KubeObject['metadata']; readonly spec: { readonly serviceAccountName: string } };
}

// A pod's tokens are worth nothing once its ServiceAccount was made anew, and it knows the controller's address from its start.
function withStart(object: KubeObject, applied: readonly KubeObject[]): KubeObject {
  if (object.kind !== KUBE_KINDS.deployment.kind && object.kind !== KUBE_KINDS.daemonSet.kind) return object;
  const spec = object['spec'] as Workload;
  const { metadata, spec: pod } = spec.template;
  const account = applied.find(({ kind, metadata: { name } }) => kind === KUBE_KINDS.serviceAccount.kind && name === pod.serviceAccountName);
  const service = applied.find(({ kind, metadata: { name } }) => kind === KUBE_KINDS.service.kind && name === CONTROLLER_NAME);
  const address = (service?.['spec'] as { readonly clusterIP?: string } | undefined)?.clusterIP ?? '';
  const start = [account?.metadata.uid ?? '', ...(object.metadata.name === CONTROLLER_NAME ? [] : [address])].join(' ').trim();
  return { ...object, spec: { ...spec, template: { ...spec.template, metadata: { ...metadata, annotations: { ...metadata.annotations, [STARTED_WITH_ANNOTATION]: start } } } } };
}
