import type { FleetError } from '#domain/fleet';
import type { KubeObject, KubeSelection, KubeWatchHandler } from '#ports';

import { isSelected } from './kube-selectors.js';

/** One subscriber of {@link FakeKube}: delivers the level in order, each delivery in its own microtask as a socket would. */
export class FakeKubeWatch {
  readonly kindKey: string;
  readonly #selection: KubeSelection;
  readonly #handler: KubeWatchHandler;
  readonly #known = new Map<string, KubeObject>();
  #isStopped = false;
  #isSynced = false;
  #isLost = false;
  constructor(kindKey: string, selection: KubeSelection, handler: KubeWatchHandler) {
    this.kindKey = kindKey;
    this.#selection = selection;
    this.#handler = handler;
  }

  /** A first list, or the list after a loss: what is gone is removed, what is new or changed is sent. */
  relist(objects: readonly KubeObject[]): void {
    const selected = objects.filter((object) => isSelected(object, this.#selection));
    const names = new Set(selected.map(keyOf));
    for (const [key, known] of this.#known) if (!names.has(key)) this.#remove(key, identityOf(known));
    for (const object of selected) this.#upsert(object);
    if (this.#isLost) this.#later((handler) => handler.connection?.(undefined));
    this.#isLost = false;
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#later((handler) => handler.synced());
  }

  /** The object is now this, or gone. */
  changed(object: KubeObject, isGone: boolean): void {
    if (this.#isLost || !this.#isSynced) return;
    if (!isGone && isSelected(object, this.#selection)) this.#upsert(object);
    else if (this.#known.has(keyOf(object))) this.#remove(keyOf(object), object);
  }

  lose(sinceMs: number, error: FleetError): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#later((handler) => {
      handler.connection?.(sinceMs);
      handler.failed?.(error);
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  #upsert(object: KubeObject): void {
    if (this.#known.get(keyOf(object))?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#known.set(keyOf(object), object);
    this.#later((handler) => handler.upsert(structuredClone(object)));
  }

  #remove(key: string, object: KubeObject): void {
    this.#known.delete(key);
    this.#later((handler) => handler.remove(structuredClone(object)));
  }

  #later(deliver: (handler: KubeWatchHandler) => void): void {
    queueMicrotask(() => {
      if (!this.#isStopped) deliver(this.#handler);
    });
  }
}

const keyOf = (object: KubeObject): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;

const identityOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
});
