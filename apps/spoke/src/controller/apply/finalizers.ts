import { ADDRESS_FINALIZER } from '#domain/addresses';
import { isFleetError } from '#domain/fleet';
import type { Kube, KubeKind, KubeRef } from '#ports';

/** Puts our finalizer on an object or takes it off; an object that is gone, or right already, is left alone. */
export async function setAddressFinalizer(kube: Kube, kind: KubeKind, ref: KubeRef, wanted: boolean): Promise<void> {
  const object = await kube.find(kind, ref);
  if (object === undefined) return;
  const present = object.metadata.finalizers ?? [];
  if (present.includes(ADDRESS_FINALIZER) === wanted) return;
  // An object that is on its way out takes no new finalizers.
  if (wanted && object.metadata.deletionTimestamp !== undefined) return;
  const finalizers = wanted ? [...present, ADDRESS_FINALIZER] : present.filter((name) => name !== ADDRESS_FINALIZER);
  try {
    await kube.replace(kind, { ...object, metadata: { ...object.metadata, finalizers } });
  } catch (error) {
    if (!isFleetError(error) || error.code !== 'KUBE_NOT_FOUND') throw error;
  }
}
