import { KUBE_KINDS } from '#contracts/kube-objects';
import { installationOf, LEAVE_ANNOTATION, LEFT_ANNOTATION } from '#contracts/spoke-api';
import type { Clock, Kube, KubeObject, KubeWatch } from '#ports';

import { ownAccountUid } from '../../leave/own-account.js';
import { FIELD_MANAGER } from '../own/own-data.js';

const RETRY_MS = 1_000;

/** Follows the request to leave on our own Namespace. A request that is for another installation is none. */
export class LeaveMarker {
  readonly #stop = new AbortController();
  #watch: KubeWatch | undefined;
  #written: string | undefined;
  #request: string | undefined;
  #done: string | undefined;
  #ownUid: string | undefined;
  #isAsking = false;
  #synced = false;

  constructor(
    private readonly kube: Kube,
    private readonly clock: Clock,
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
    this.#stop.abort();
    this.#watch?.stop();
  }

  /** Whether it is known if we are asked to leave. */
  get isKnown(): boolean {
    return this.#synced && (this.#written === this.#request || this.#ownUid !== undefined);
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
    this.#written = object.metadata.annotations?.[LEAVE_ANNOTATION];
    this.#done = object.metadata.annotations?.[LEFT_ANNOTATION];
    this.#judge();
  }

  #judge(): void {
    const before = this.#request;
    const installation = this.#written === undefined ? undefined : installationOf(this.#written);
    if (installation !== undefined && !this.#isAsking) void this.#learnOwnUid();
    this.#request = installation === undefined || installation === this.#ownUid ? this.#written : undefined;
    if (before !== this.#request) this.onChange();
  }

  async #learnOwnUid(): Promise<void> {
    this.#isAsking = true;
    const { signal } = this.#stop;
    while (!signal.aborted && this.#ownUid === undefined) {
      this.#ownUid = await ownAccountUid(this.kube).catch(() => undefined);
      if (this.#ownUid === undefined) await this.clock.sleep(RETRY_MS, signal);
    }
    if (signal.aborted) return;
    this.#judge();
    this.onChange();
  }
}
