import { isDeepStrictEqual } from 'node:util';

import { isFleetError, type Problem } from '#domain/fleet';
import type { Clock, Kube, KubeKind, KubeObject, KubeSelection, KubeWatch, Random } from '#ports';

import { Backoff } from '../backoff.js';
import { SortedObjects } from './sorted-objects.js';

/** One kind that the store follows. */
export interface WatchedKindSpec<T> {
  readonly kind: KubeKind;
  readonly selection?: KubeSelection;
  /** Trims an object to what plans need, at once on receipt. One that does not read is left out; it never stops the others. */
  readonly parse: (object: unknown) => { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };
  /** Versions of the kind that read alike, for clusters that do not serve the one of `kind`; the newest first. */
  readonly olderVersions?: readonly string[];
  /** A cluster may lack this kind (a CRD): a definite 404 then counts as a complete, empty list. One that is `wanted` is worth a word. */
  readonly optional?: 'wanted' | 'extra';
}

/** Where a kind's first list stands. */
export type WatchedKindState = 'listing' | 'complete' | 'missing';

/** What a {@link WatchedKind} needs from outside. */
export interface WatchedKindContext {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly random: Random;
  readonly onChange: () => void;
  readonly onUnreadable: (problem: Problem) => void;
  readonly onWatchFailed: (kind: KubeKind, error: unknown) => void;
  /** The connection was lost, or is back. */
  readonly onConnection?: () => void;
}

// A name that no object has, so that asking whether a kind is served costs one empty list.
const NO_OBJECT = 'metadata.name=spillway-no-such-object';
const MISSING_POLL = { minMs: 2_000, maxMs: 5_000 };

/** The current objects of one kind, trimmed, as the watch last told them. */
export class WatchedKind<T> {
  readonly #objects = new SortedObjects<T>();
  readonly #stop = new AbortController();
  #watch: KubeWatch | undefined;
  #state: WatchedKindState = 'listing';
  #lostSinceMs: number | undefined;
  #served: KubeKind;
  #isProbing = false;
  /** What the first list of a new watch has told of so far. */
  #listed: Set<string> | undefined;

  constructor(
    readonly spec: WatchedKindSpec<T>,
    private readonly context: WatchedKindContext,
  ) {
    this.#served = spec.kind;
  }

  /** Begins to follow; returns at once. */
  start(): void {
    if (this.spec.optional === undefined) this.#follow(this.spec.kind);
    else void this.#waitUntilServed();
  }

  stop(): void {
    this.#stop.abort();
    this.#watch?.stop();
  }

  /** The kind in the version that this cluster serves. */
  get served(): KubeKind {
    return this.#served;
  }

  get state(): WatchedKindState {
    return this.#state;
  }

  /** Epoch ms since which the API server is away, as far as this kind knows. */
  get lostSinceMs(): number | undefined {
    return this.#lostSinceMs;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** All objects, sorted by namespace and name; the same array until something changes. */
  values(): readonly T[] {
    return this.#objects.values();
  }

  /** One object. */
  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  async #waitUntilServed(): Promise<void> {
    const backoff = new Backoff(this.context.random, MISSING_POLL);
    while (!this.#stop.signal.aborted) {
      const found = await this.#findServed();
      this.#connection(found === undefined ? (this.#lostSinceMs ?? this.context.clock.nowMs()) : undefined);
      if (found !== undefined && found !== 'none') return this.#follow(found);
      if (found === 'none') this.#setState('missing');
      await this.context.clock.sleep(backoff.nextMs(), this.#stop.signal);
    }
  }

  /** The newest version that is served; undefined where the server did not say. */
  async #findServed(): Promise<KubeKind | 'none' | undefined> {
    const { kind, olderVersions = [] } = this.spec;
    let isCertain = true;
    for (const candidate of [kind, ...olderVersions.map((version) => ({ ...kind, version }))]) {
      const isServed = await this.#isServed(candidate);
      if (isServed === true) return candidate;
      isCertain &&= isServed === false;
    }
    return isCertain ? 'none' : undefined;
  }

  // Undefined means that the server did not say: an API server that is away is no proof that a kind is missing.
  async #isServed(kind: KubeKind): Promise<boolean | undefined> {
    try {
      await this.context.kube.list(kind, { ...this.spec.selection, fieldSelector: NO_OBJECT });
      return true;
    } catch (error) {
      if (isFleetError(error) && error.code === 'KUBE_NOT_FOUND') return false;
      this.context.onWatchFailed(this.spec.kind, error);
      return undefined;
    }
  }

  #follow(kind: KubeKind): void {
    if (this.#stop.signal.aborted) return;
    this.#watch?.stop();
    this.#served = kind;
    this.#listed = new Set();
    this.#watch = this.context.kube.watch(kind, this.spec.selection ?? {}, {
      upsert: (object) => this.#upsert(object),
      remove: (object) => this.#remove(object),
      synced: () => this.#synced(),
      connection: (lostSinceMs) => this.#connection(lostSinceMs),
      failed: (error) => {
        this.context.onWatchFailed(kind, error);
        if (isFleetError(error) && error.code === 'KUBE_NOT_FOUND') void this.#followOtherVersion();
      },
    });
  }

  // A release of the definitions may drop the version that is followed. What is known stays until the other one has told of all.
  async #followOtherVersion(): Promise<void> {
    if (this.spec.olderVersions === undefined || this.#isProbing) return;
    this.#isProbing = true;
    const found = await this.#findServed();
    this.#isProbing = false;
    if (found !== undefined && found !== 'none' && found.version !== this.#served.version) this.#follow(found);
  }

  // An earlier watch may have told of objects that were gone before this one began.
  #synced(): void {
    const listed = this.#listed;
    this.#listed = undefined;
    const gone = listed === undefined ? [] : [...this.#objects.keys()].filter((key) => !listed.has(key));
    for (const key of gone) this.#objects.delete(key);
    if (gone.length > 0) this.#changed();
    this.#setState('complete');
  }

  #connection(lostSinceMs: number | undefined): void {
    if (this.#lostSinceMs === lostSinceMs) return;
    this.#lostSinceMs = lostSinceMs;
    this.context.onConnection?.();
  }

  #setState(state: WatchedKindState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.context.onChange();
  }

  #upsert(object: KubeObject): void {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    this.#listed?.add(key);
    const parsed = this.spec.parse(object);
    if (parsed.ok) {
      // Most updates of pods and nodes change nothing that a plan reads.
      if (isDeepStrictEqual(this.#objects.get(key), parsed.value)) return;
      this.#objects.set(key, parsed.value);
    } else {
      this.context.onUnreadable(parsed.problem);
      if (!this.#objects.delete(key)) return;
    }
    this.#changed();
  }

  #remove(object: KubeObject): void {
    if (this.#objects.delete(keyOf(object.metadata.namespace, object.metadata.name))) this.#changed();
  }

  #changed(): void {
    if (this.#state !== 'listing') this.context.onChange();
  }
}

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;
