import { KUBE_KINDS } from '#contracts/kube-objects';
import type { Kube, KubeObject, KubeWatch } from '#ports';


/** Follows one Secret of ours: its current object, and whether that is known yet. */
export class WatchedSecret {
  #object: KubeObject | undefined;
  #synced = false;
  #watch: KubeWatch | undefined;

  constructor(
    private readonly kube: Kube,
    readonly ref: { readonly namespace: string; readonly name: string },
    private readonly onChange: () => void,
  ) {}

  start(): void {
    this.#watch = this.kube.watch(KUBE_KINDS.secret, { namespace: this.ref.namespace, fieldSelector: `metadata.name=${this.ref.name}` }, {
      upsert: (object) => this.#set(object),
      remove: () => this.#set(undefined),
      synced: () => {
        this.#synced = true;
        this.onChange();
      },
    });
  }

  stop(): void {
    this.#watch?.stop();
  }

  get synced(): boolean {
    return this.#synced;
  }

  get object(): KubeObject | undefined {
    return this.#object;
  }

  #set(object: KubeObject | undefined): void {
    this.#object = object;
    if (this.#synced) this.onChange();
  }
}
