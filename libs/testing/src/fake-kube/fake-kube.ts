import { FleetError } from '#domain/fleet';
import { Kube, type Clock, type KubeKind, type KubeObject, type KubePreconditions, type KubeRef, type KubeSelection, type KubeWatch, type KubeWatchHandler } from '#ports';

import { FakeKubeStore, isBuiltInGroup, kindKeyOf, refusal } from './fake-kube-store.js';
import { FakeKubeWatch } from './fake-kube-watch.js';
import { isSelected } from './kube-selectors.js';

/** What a bearer token stands for when a TokenReview asks. */
export interface FakeTokenOwner {
  readonly username: string;
  readonly uid?: string;
  readonly audiences: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Options of {@link FakeKube}. */
export interface FakeKubeOptions {
  readonly clock?: Clock;
  /**
   * As a real server: custom kinds are served only once their CustomResourceDefinition exists, objects need their
   * namespace, and a deleted namespace takes its objects along. Off: every kind and namespace just works.
   */
  readonly strict?: boolean;
}

const NAMESPACE: KubeKind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
const CRD: KubeKind = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions', namespaced: false };

/** An API server in memory that behaves: versions, conflicts, finalizers, server-side apply, watches, rights. */
export class FakeKube extends Kube {
  /** Answers of {@link Kube.raw} beyond `/apis/GROUP/VERSION`. */
  readonly rawAnswers = new Map<string, unknown>();
  /** Tokens that a TokenReview accepts. */
  readonly tokens = new Map<string, FakeTokenOwner>();
  /** Who asks, as a SelfSubjectReview says. */
  self: { readonly username: string; readonly uid?: string } = { username: 'admin' };
  version = 'v1.37.2';
  /** How far the server's clock is ahead. */
  clockOffsetMs = 0;
  readonly #store: FakeKubeStore;
  readonly #strict: boolean;
  readonly #now: () => number;
  readonly #watches = new Set<FakeKubeWatch>();
  readonly #kinds = new Map<string, KubeKind>();
  readonly #forbidden = new Set<string>();
  #away: FleetError | undefined;
  constructor(options: FakeKubeOptions = {}) {
    super();
    this.#strict = options.strict ?? false;
    this.#now = () => options.clock?.nowMs() ?? 1_700_000_000_000;
    this.#store = new FakeKubeStore(this.#now, (kind, object, isGone) => {
      for (const watch of this.#watches) if (watch.kindKey === kindKeyOf(kind)) watch.changed(object, isGone);
    });
    for (const name of ['default', 'kube-system']) this.#store.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, status: { phase: 'Active' } });
  }

  /** Grows with every change; equal before and after means that nothing was written. */
  get revision(): number {
    return this.#store.revision;
  }

  /** Every request fails and every watch is lost until {@link comeBack}. */
  goAway(error = new FleetError('KUBE_UNREACHABLE', 'transient', 'the server cannot be reached (ECONNREFUSED)')): void {
    this.#away = error;
    for (const watch of this.#watches) watch.lose(this.#now(), error);
  }

  /** Ends {@link goAway}: watches list again. */
  comeBack(): void {
    this.#away = undefined;
    for (const watch of this.#watches) this.#relist(watch);
  }

  /** Takes a right away: `forbid('create', 'apps', 'deployments')`. */
  forbid(verb: string, group: string, resource: string): void {
    this.#forbidden.add(`${verb} ${group}/${resource}`);
  }

  /** Gives a right back. */
  permit(verb: string, group: string, resource: string): void {
    this.#forbidden.delete(`${verb} ${group}/${resource}`);
  }

  /** Puts an object as it is, status and all, as kubelet, scheduler or a person would have made it. */
  seed(kind: KubeKind, object: KubeObject): KubeObject {
    this.#kinds.set(kindKeyOf(kind), kind);
    return structuredClone(this.#store.seed(kind, object));
  }

  async find(kind: KubeKind, ref: KubeRef): Promise<KubeObject | undefined> {
    this.#admit('get', kind);
    return this.#isServed(kind) ? structuredClone(this.#store.find(kind, ref)) : undefined;
  }

  async list(kind: KubeKind, selection: KubeSelection = {}): Promise<readonly KubeObject[]> {
    this.#admit('list', kind);
    this.#requireServed(kind);
    const { trim = (object: KubeObject) => object } = selection;
    return structuredClone(this.#store.list(kind).filter((object) => isSelected(object, selection))).map(trim);
  }

  async create(kind: KubeKind, object: KubeObject): Promise<KubeObject> {
    this.#admit('create', kind);
    this.#requireServed(kind);
    const review = this.#review(kind, object);
    if (review !== undefined) return review;
    this.#requireNamespace(kind, object);
    return structuredClone(this.#store.create(kind, object));
  }

  async apply(kind: KubeKind, object: KubeObject, fieldManager: string): Promise<KubeObject> {
    this.#admit('patch', kind);
    this.#requireServed(kind);
    this.#requireNamespace(kind, object);
    return structuredClone(this.#store.apply(kind, object, fieldManager));
  }

  async replaceStatus(kind: KubeKind, object: KubeObject): Promise<KubeObject> {
    this.#admit('update', kind, 'status');
    this.#requireServed(kind);
    return structuredClone(this.#store.replaceStatus(kind, object));
  }

  async replace(kind: KubeKind, object: KubeObject): Promise<KubeObject> {
    this.#admit('update', kind);
    this.#requireServed(kind);
    const replaced = structuredClone(this.#store.replace(kind, object));
    this.#finishNamespaces();
    return replaced;
  }

  async remove(kind: KubeKind, ref: KubeRef, preconditions?: KubePreconditions): Promise<void> {
    this.#admit('delete', kind);
    if (!this.#isServed(kind)) return;
    if (this.#strict && kindKeyOf(kind) === kindKeyOf(NAMESPACE)) this.#terminate(ref.name);
    else this.#store.remove(kind, ref, preconditions);
    this.#finishNamespaces();
  }

  watch(kind: KubeKind, selection: KubeSelection, handler: KubeWatchHandler): KubeWatch {
    this.#kinds.set(kindKeyOf(kind), kind);
    const watch = new FakeKubeWatch(kindKeyOf(kind), selection, handler);
    this.#watches.add(watch);
    if (this.#away === undefined) this.#relist(watch);
    else watch.lose(this.#now(), this.#away);
    return {
      stop: () => {
        watch.stop();
        this.#watches.delete(watch);
      },
    };
  }

  async serverInfo(): Promise<{ readonly version: string; readonly timeMs: number | undefined }> {
    if (this.#away !== undefined) throw this.#away;
    return { version: this.version, timeMs: this.#now() + this.clockOffsetMs };
  }

  async raw(path: string): Promise<unknown> {
    if (this.#away !== undefined) throw this.#away;
    const answer = this.rawAnswers.get(path) ?? this.#discover(path);
    if (answer === undefined) throw new FleetError('KUBE_NOT_FOUND', 'user', `GET ${path}: the server could not find the requested resource`);
    return structuredClone(answer);
  }

  #admit(verb: string, kind: KubeKind, subresource?: string): void {
    if (this.#away !== undefined) throw this.#away;
    const resource = subresource === undefined ? kind.plural : `${kind.plural}/${subresource}`;
    if (this.#forbidden.has(`${verb} ${kind.group}/${resource}`)) throw new FleetError('KUBE_FORBIDDEN', 'user', `cannot ${verb} resource "${resource}" in API group "${kind.group}"`);
    if (this.#isServed(kind)) this.#kinds.set(kindKeyOf(kind), kind);
  }

  #isServed(kind: KubeKind): boolean {
    if (!this.#strict || isBuiltInGroup(kind.group)) return true;
    const definition = this.#store.find(CRD, { name: `${kind.plural}.${kind.group}` });
    return definition !== undefined && servesVersion(definition, kind.version);
  }

  #requireServed(kind: KubeKind): void {
    if (!this.#isServed(kind)) throw new FleetError('KUBE_NOT_FOUND', 'user', `the server could not find the requested resource ${kind.plural}.${kind.group}`);
  }

  #requireNamespace(kind: KubeKind, object: KubeObject): void {
    if (!this.#strict || !kind.namespaced) return;
    const namespace = this.#store.find(NAMESPACE, { name: object.metadata.namespace ?? '' });
    if (namespace === undefined) throw refusal('KUBE_NOT_FOUND', NAMESPACE, { name: object.metadata.namespace ?? '' }, 'not found');
    if (namespace.metadata.deletionTimestamp !== undefined && this.#store.find(kind, object.metadata) === undefined) {
      throw refusal('KUBE_FORBIDDEN', kind, object.metadata, 'the namespace is being terminated');
    }
  }

  // A real server's namespace controller: first the contents, then the namespace.
  #terminate(name: string): void {
    const namespace = this.#store.find(NAMESPACE, { name });
    if (namespace === undefined) return;
    this.#store.seed(NAMESPACE, { ...namespace, metadata: { ...namespace.metadata, deletionTimestamp: '2023-11-14T22:13:20Z' }, status: { phase: 'Terminating' } });
    for (const kind of this.#kinds.values()) {
      if (!kind.namespaced) continue;
      for (const object of this.#store.list(kind)) if (object.metadata.namespace === name) this.#store.remove(kind, object.metadata);
    }
  }

  #finishNamespaces(): void {
    if (!this.#strict) return;
    for (const namespace of this.#store.list(NAMESPACE)) {
      const { name, deletionTimestamp } = namespace.metadata;
      const isEmpty = [...this.#kinds.values()].every((kind) => !kind.namespaced || this.#store.list(kind).every((object) => object.metadata.namespace !== name));
      if (deletionTimestamp !== undefined && isEmpty) this.#store.remove(NAMESPACE, { name });
    }
  }

  #relist(watch: FakeKubeWatch): void {
    const kind = [...this.#kinds.values()].find((candidate) => kindKeyOf(candidate) === watch.kindKey);
    if (kind !== undefined && this.#isServed(kind)) watch.relist(this.#store.list(kind));
  }

  // Reviews are questions: nothing is stored.
  #review(kind: KubeKind, object: KubeObject): KubeObject | undefined {
    if (kind.kind === 'SelfSubjectAccessReview') return { ...object, status: { allowed: this.#isPermitted(object) } };
    if (kind.kind === 'SelfSubjectReview') return { ...object, status: { userInfo: this.self } };
    if (kind.kind === 'TokenReview') return { ...object, status: this.#tokenStatus(object) };
    return undefined;
  }

  #isPermitted(review: KubeObject): boolean {
    const { verb = '', group = '', resource = '', subresource = '' } = (review['spec'] as AccessReviewSpec | undefined)?.resourceAttributes ?? {};
    // Everything, as an administrator may.
    if (verb === '*' && group === '*' && resource === '*') return this.#forbidden.size === 0;
    return !this.#forbidden.has(`${verb} ${group}/${subresource === '' ? resource : `${resource}/${subresource}`}`);
  }

  #tokenStatus(review: KubeObject): object {
    const spec = review['spec'] as { readonly token?: string; readonly audiences?: readonly string[] } | undefined;
    const owner = this.tokens.get(spec?.token ?? '');
    const audiences = owner?.audiences.filter((audience) => spec?.audiences?.includes(audience) ?? true) ?? [];
    if (owner === undefined || audiences.length === 0) return { authenticated: false, error: 'invalid bearer token' };
    return { authenticated: true, audiences, user: { username: owner.username, uid: owner.uid, extra: owner.extra } };
  }

  #discover(path: string): unknown {
    const match = /^\/apis\/([^/]+)\/([^/]+)$/.exec(path);
    if (match === null) return undefined;
    const [, group = '', version = ''] = match;
    const definitions = this.#store.list(CRD).map((definition) => definition['spec'] as CrdSpec);
    const served = definitions.filter((spec) => spec.group === group && spec.versions.some((entry) => entry.name === version && entry.served));
    if (served.length === 0) return undefined;
    const resources = served.map((spec) => ({ name: spec.names.plural, kind: spec.names.kind, namespaced: spec.scope === 'Namespaced' }));
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/${version}`, resources };
  }
}

interface AccessReviewSpec {
  readonly resourceAttributes?: { readonly verb?: string; readonly group?: string; readonly resource?: string; readonly subresource?: string };
}

interface CrdSpec {
  readonly group: string;
  readonly scope: string;
  readonly names: { readonly plural: string; readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

function servesVersion(definition: KubeObject, version: string): boolean {
  const { versions } = definition['spec'] as { readonly versions?: readonly { readonly name: string; readonly served: boolean }[] };
  return versions === undefined || versions.some(({ name, served }) => name === version && served);
}
