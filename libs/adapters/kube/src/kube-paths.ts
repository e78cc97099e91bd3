import type { KubeKind, KubeRef } from '#ports';

/** API path of a kind's collection, in one namespace or in all. */
export function collectionPath(kind: KubeKind, namespace: string | undefined): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${kind.plural}`;
}

/** API path of one object, or of its subresource. */
export function objectPath(kind: KubeKind, ref: KubeRef, subresource?: string): string {
  const path = `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** A query string of the given values; undefined ones are left out. */
export function queryText(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value);
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
