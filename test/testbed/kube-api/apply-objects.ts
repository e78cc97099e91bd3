import { parseAllDocuments } from 'yaml';

import { ApiError, type ApiObject, type KubeApi } from './kube-api.js';

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

const NOT_SERVED_YET_MS_MAX = 10_000;

/** Server-side applies objects in order. A kind that is not served yet (its definition came a moment ago) is waited for. */
export async function applyObjects(api: KubeApi, objects: readonly ApiObject[]): Promise<void> {
  const lists = new Map<string, ResourceList>();
  for (const object of objects) await api.patch(await objectPath(api, object, lists), object, 'apply');
}

/** Applies the objects of a YAML text. */
export async function applyYaml(api: KubeApi, text: string): Promise<void> {
  await applyObjects(api, parseObjects(text));
}

/** Deletes objects in reverse order; what is gone already is no error. */
export async function removeObjects(api: KubeApi, objects: readonly ApiObject[]): Promise<void> {
  const lists = new Map<string, ResourceList>();
  for (const object of [...objects].reverse()) await api.remove(await objectPath(api, object, lists));
}

/** The objects of a YAML text, empty documents left out. */
export function parseObjects(text: string): readonly ApiObject[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as ApiObject | null) ?? []);
}

/** The API path of an object, by what the server says of its kind. */
async function objectPath(api: KubeApi, object: ApiObject, lists: Map<string, ResourceList> = new Map()): Promise<string> {
  const version = object.apiVersion ?? 'v1';
  const base = version.includes('/') ? `/apis/${version}` : `/api/${version}`;
  const resource = await findResource(api, base, object.kind ?? '', lists);
  const scope = resource.namespaced ? `/namespaces/${object.metadata.namespace ?? 'default'}` : '';
  return `${base}${scope}/${resource.name}/${object.metadata.name}`;
}

async function findResource(api: KubeApi, base: string, kind: string, lists: Map<string, ResourceList>): Promise<{ readonly name: string; readonly namespaced: boolean }> {
  const endAtMs = Date.now() + NOT_SERVED_YET_MS_MAX;
  for (;;) {
    const list = lists.get(base) ?? (await readResources(api, base));
    const found = list?.resources.find((resource) => resource.kind === kind && !resource.name.includes('/'));
    if (list !== undefined && found !== undefined) {
      lists.set(base, list);
      return found;
    }
    lists.delete(base);
    if (Date.now() > endAtMs) throw new Error(`the API server does not serve ${kind} of ${base}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function readResources(api: KubeApi, base: string): Promise<ResourceList | undefined> {
  try {
    return await api.get<ResourceList>(base);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
