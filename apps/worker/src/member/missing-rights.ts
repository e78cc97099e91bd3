import { KUBE_KINDS } from '#contracts/kube-objects';
import type { NeededRight } from '#domain/membership';
import type { Kube, KubeObject } from '#ports';

/** Reviews asked at the same time. */
const PARALLEL_MAX = 8;

/** Which of these rights our credential lacks, by asking the member's own API server. */
export async function findMissingRights(kube: Kube, rights: readonly NeededRight[]): Promise<readonly NeededRight[]> {
  // One question for administrators, instead of one for every right.
  if (await isAllowed(kube, { verb: '*', group: '*', resource: '*' })) return [];
  const missing: NeededRight[] = [];
  for (let start = 0; start < rights.length; start += PARALLEL_MAX) {
    const batch = rights.slice(start, start + PARALLEL_MAX);
    const answers = await Promise.all(batch.map((right) => isAllowed(kube, right)));
    missing.push(...batch.filter((_right, index) => answers[index] !== true));
  }
  return missing;
}

async function isAllowed(kube: Kube, right: NeededRight): Promise<boolean> {
  const [resource = '', subresource] = right.resource.split('/');
  const resourceAttributes = {
    verb: right.verb,
    group: right.group,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
    ...(right.namespace === undefined ? {} : { namespace: right.namespace }),
  };
  const review: KubeObject = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', metadata: { name: '' }, spec: { resourceAttributes } };
  const answer = await kube.create(KUBE_KINDS.selfSubjectAccessReview, review);
  return (answer['status'] as { readonly allowed?: boolean } | undefined)?.allowed === true;
}
