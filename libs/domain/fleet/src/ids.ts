/** A member cluster's id: one RFC 1123 label of at most 63 characters, unique in the clusterset, fixed while a member (R49). */
export type ClusterId = string & { readonly __brand: 'ClusterId' };

/** A fleet backend's name: `namespace/name` of the CompositeBackend, the same in every member cluster. */
export type BackendName = string & { readonly __brand: 'BackendName' };

/** A namespace and an object's name in it. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** The longest cluster id: Kubernetes label values and DNS labels both stop at 63 characters. */
export const CLUSTER_ID_LENGTH_MAX = 63;

const RFC1123_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Whether a text is one RFC 1123 label of at most 63 characters. */
export const isRfc1123Label = (text: string): boolean => text.length <= CLUSTER_ID_LENGTH_MAX && RFC1123_LABEL.test(text);

/** Brands a text that was already checked with {@link isRfc1123Label}. */
export const clusterId = (text: string): ClusterId => text as ClusterId;

/** Joins a namespace and a name into a {@link BackendName}. */
export const backendName = (namespace: string, name: string): BackendName => `${namespace}/${name}` as BackendName;

/** Splits a {@link BackendName} into namespace and name. */
export function splitBackendName(key: BackendName): NamespacedName {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
