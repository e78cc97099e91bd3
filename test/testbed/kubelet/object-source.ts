import { followObjects, type Following } from '../kube-api/follow-objects.js';
import { corePath, type KubeApi } from '../kube-api/kube-api.js';
import type { DataObject } from './pod-types.js';

/** The two kinds whose contents pods use. */
export type DataKind = 'secrets' | 'configmaps';

interface Entry {
  object: DataObject | undefined;
  synced: boolean;
  readonly following: Following;
  readonly listeners: Set<() => void>;
}

/**
 * ConfigMaps and Secrets that pods of this node use, each followed by name: all that the node authorizer allows, and the
 * reason why their volumes are up to date within moments.
 */
export class ObjectSource {
  readonly #api: KubeApi;
  readonly #entries = new Map<string, Entry>();

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /** Follows an object until the returned function is called; `onChange` comes with the first answer too. */
  follow(kind: DataKind, namespace: string, name: string, onChange: () => void): () => void {
    const key = `${kind}/${namespace}/${name}`;
    const entry = this.#entries.get(key) ?? this.#start(key, kind, namespace, name);
    entry.listeners.add(onChange);
    if (entry.synced) queueMicrotask(onChange);
    return () => {
      entry.listeners.delete(onChange);
      if (entry.listeners.size > 0) return;
      entry.following.stop();
      this.#entries.delete(key);
    };
  }

  /** The object as last seen; undefined where it does not exist, or where nobody follows it. */
  current(kind: DataKind, namespace: string, name: string): DataObject | undefined {
    return this.#entries.get(`${kind}/${namespace}/${name}`)?.object;
  }

  #start(key: string, kind: DataKind, namespace: string, name: string): Entry {
    const listeners = new Set<() => void>();
    const notify = (object: DataObject | undefined): void => {
      const entry = this.#entries.get(key);
      if (entry === undefined) return;
      entry.object = object;
      if (entry.synced) for (const listener of listeners) listener();
    };
    const handler = {
      upsert: (object: DataObject) => notify(object),
      remove: () => notify(undefined),
      synced: () => {
        const entry = this.#entries.get(key);
        if (entry === undefined || entry.synced) return;
        entry.synced = true;
        for (const listener of listeners) listener();
      },
    };
    const following = followObjects<DataObject>(this.#api, { path: corePath(namespace, kind), fieldSelector: `metadata.name=${name}` }, handler);
    const entry: Entry = { object: undefined, synced: false, following, listeners };
    this.#entries.set(key, entry);
    return entry;
  }
}

/** The contents of a ConfigMap or Secret as bytes. */
export function dataBytes(kind: DataKind, object: DataObject): ReadonlyMap<string, Buffer> {
  const plain = Object.entries(object.data ?? {}).map(([key, value]) => [key, Buffer.from(value, kind === 'secrets' ? 'base64' : 'utf8')] as const);
  const binary = Object.entries(object.binaryData ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const);
  return new Map([...plain, ...binary]);
}
