import { KUBE_KINDS } from '#contracts/kube-objects';
import type { Kube, KubeObject, KubeWatch } from '#ports';

import { FIELD_MANAGER } from '../own/own-data.js';

/** Annotation of our own Namespace by which the worker asks us to leave. Its value is the request's id. */
export const LEAVE_ANNOTATION = 'spillway.dev/leave';
/** Annotation by which we say that we have left; its value repeats the request's id. */
export const LEFT_ANNOTATION = 'spillway.dev/left';

/** Follows the request to leave on our own Namespace. */
export class LeaveMarker {
  #watch: KubeWatch | undefined;
  #request: string | undefined;
  #done: string | undefined;
  #synced = false;

  constructor(
    private readonly kube: Kube,
    private readonly namespace: string,
    private readonly onChange: () => void,
  ) {}

  start(): void {
    this.#watch = this.kube.watch(KUBE_KINDS.namespace, { fieldSelector: `metadata.name=${this.namespace}` }, {
      upsert: (object) => this.#read(object),
      remove: () => undefined,
      synced: () => {
        this.#synced = true;
        this.onChange();
      },
    });
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** Whether it is known if we are asked to leave. */
  get isKnown(): boolean {
    return this.#synced;
  }

  /** Whether we are asked to leave. */
  get isAsked(): boolean {
    return this.#request !== undefined;
  }

  /** Whether we have left, and said so. */
  get isDone(): boolean {
    return this.#request !== undefined && this.#done === this.#request;
  }

  /** Says that everything of ours is off. */
  async sayDone(): Promise<void> {
    if (this.#request === undefined || this.isDone) return;
    const request = this.#request;
    await this.kube.apply(KUBE_KINDS.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace, annotations: { [LEFT_ANNOTATION]: request } } }, FIELD_MANAGER);
    this.#done = request;
    this.onChange();
  }

  #read(object: KubeObject): void {
    const before = this.#request;
    this.#request = object.metadata.annotations?.[LEAVE_ANNOTATION];
    this.#done = object.metadata.annotations?.[LEFT_ANNOTATION];
    if (before !== this.#request) this.onChange();
  }
}
