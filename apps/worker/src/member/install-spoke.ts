import { KUBE_KINDS } from '#contracts/kube-objects';
import type { ClusterRecord, Kube } from '#ports';

import { buildGatewayClass, buildMemberManifests, GATEWAY_CLASS, readCrds } from '../member-manifests/index.js';
import { ensureJoinSecret, FIELD_MANAGER } from './join-secret.js';
import { isServed } from './observe-preflight.js';
import type { WorkerParts } from './worker-parts.js';

/** Makes the member hold exactly our objects, by server-side apply: what is already so is not written. */
export async function installSpoke(kube: Kube, record: ClusterRecord, parts: WorkerParts): Promise<void> {
  const apply = async (manifests: ReturnType<typeof readCrds>): Promise<void> => {
    for (const { kind, object } of manifests) await kube.apply(kind, object, FIELD_MANAGER);
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
