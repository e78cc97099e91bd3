import { KUBE_KINDS } from '#contracts/kube-objects';
import { FleetError } from '#domain/fleet';
import type { Kube } from '#ports';

/** UID of the ServiceAccount that this process runs under: another one of the same name is another installation. */
export async function ownAccountUid(kube: Kube): Promise<string> {
  const review = await kube.create(KUBE_KINDS.selfSubjectReview, { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: { name: '' } });
  const uid = (review['status'] as { readonly userInfo?: { readonly uid?: unknown } } | undefined)?.userInfo?.uid;
  if (typeof uid === 'string' && uid !== '') return uid;
  throw new FleetError('LEAVE_NO_ACCOUNT', 'user', 'The API server does not say which ServiceAccount this process runs under; run it under the controller\'s.');
}
