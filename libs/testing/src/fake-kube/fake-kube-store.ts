import { isDeepStrictEqual } from 'node:util';

import { FleetError } from '#domain/fleet';
import type { KubeKind, KubeObject, KubePreconditions, KubeRef } from '#ports';

import { mergeApplied } from './merge-applied.js';

interface Entry {
  readonly object: KubeObject;
  readonly applied: ReadonlyMap<string, KubeObject>;
}

const BUILT_IN_GROUPS = new Set([
  '',
  'apiextensions.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'batch',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
]);

/** Whether a group is built into every API server. */
export const isBuiltInGroup = (group: string): boolean => BUILT_IN_GROUPS.has(group);

/** The key of a kind's collection; versions of one kind share it. */
export const kindKeyOf = (kind: KubeKind): string => `${kind.group}/${kind.plural}`;

/** Objects with the API server's rules of versions, generations, deletion and status, and nothing of its network. */
export class FakeKubeStore {
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #now: () => number;
  readonly #emit: (kind: KubeKind, object: KubeObject, isGone: boolean) => void;
  #revision = 100;
  #uids = 0;
  constructor(now: () => number, emit: (kind: KubeKind, object: KubeObject, isGone: boolean) => void) {
    this.#now = now;
    this.#emit = emit;
  }

  /** Grows with every change; equal before and after means that nothing was written. */
  get revision(): number {
    return this.#revision;
  }

  find(kind: KubeKind, ref: KubeRef): KubeObject | undefined {
    return this.#entry(kind, ref)?.object;
  }

  list(kind: KubeKind): readonly KubeObject[] {
    const entries = [...(this.#entries.get(kindKeyOf(kind)) ?? new Map<string, Entry>())];
    return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry.object);
  }

  create(kind: KubeKind, object: KubeObject, applied: ReadonlyMap<string, KubeObject> = new Map()): KubeObject {
    checkName(kind, object);
    if (this.find(kind, object.metadata) !== undefined) throw refusal('KUBE_ALREADY_EXISTS', kind, object.metadata, 'already exists');
    const keepsStatus = isBuiltInGroup(kind.group) && kind.group !== 'apps';
    const copy = structuredClone(object);
    return this.#save(kind, this.#born(kind, keepsStatus ? copy : withoutStatus(copy)), applied);
  }

  /** Puts an object as it is, status and all, as some other party of the cluster would have made it. */
  seed(kind: KubeKind, object: KubeObject): KubeObject {
    const before = this.#entry(kind, object.metadata);
    const base = before?.object ?? this.#born(kind, object);
    return this.#save(kind, { ...structuredClone(object), metadata: { ...base.metadata, ...object.metadata } }, before?.applied ?? new Map());
  }

  #born(kind: KubeKind, object: KubeObject): KubeObject {
    this.#uids += 1;
    const uid = `00000000-0000-4000-8000-${String(this.#uids).padStart(12, '0')}`;
    return { ...object, metadata: { ...object.metadata, uid, creationTimestamp: this.#timestamp(), ...(hasGeneration(kind) ? { generation: 1 } : {}) } };
  }

  replace(kind: KubeKind, object: KubeObject): KubeObject {
    const entry = this.#current(kind, object);
    return this.#update(kind, entry, { ...withoutStatus(structuredClone(object)), ...statusOf(entry.object) });
  }

  replaceStatus(kind: KubeKind, object: KubeObject): KubeObject {
    const entry = this.#current(kind, object);
    const next = { ...entry.object, status: structuredClone(object['status']) } as KubeObject;
    return this.#update(kind, entry, next);
  }

  apply(kind: KubeKind, object: KubeObject, manager: string): KubeObject {
    const entry = this.#entry(kind, object.metadata);
    const applied = structuredClone(object);
    if (entry === undefined) return this.create(kind, object, new Map([[manager, applied]]));
    const others = [...entry.applied].filter(([name]) => name !== manager).map(([, value]) => value);
    const merged = mergeApplied({ current: entry.object, applied, before: entry.applied.get(manager), others }) as KubeObject;
    const next = { ...merged, metadata: { ...merged.metadata, ...identityOf(entry.object) }, ...statusOf(entry.object) } as KubeObject;
    return this.#update(kind, { object: entry.object, applied: new Map([...entry.applied, [manager, applied]]) }, next);
  }

  remove(kind: KubeKind, ref: KubeRef, preconditions: KubePreconditions = {}): KubeObject | undefined {
    const entry = this.#entry(kind, ref);
    if (entry === undefined) return undefined;
    const { metadata } = entry.object;
    const isOther = (want: string | undefined, got: string | undefined): boolean => want !== undefined && want !== got;
    if (isOther(preconditions.uid, metadata.uid) || isOther(preconditions.resourceVersion, metadata.resourceVersion)) {
      throw refusal('KUBE_CONFLICT', kind, ref, 'the precondition does not match the object');
    }
    if ((metadata.finalizers ?? []).length === 0) return this.#drop(kind, entry.object);
    if (metadata.deletionTimestamp !== undefined) return entry.object;
    return this.#save(kind, { ...entry.object, metadata: { ...metadata, deletionTimestamp: this.#timestamp() } }, entry.applied);
  }

  #current(kind: KubeKind, object: KubeObject): Entry {
    const entry = this.#entry(kind, object.metadata);
    if (entry === undefined) throw refusal('KUBE_NOT_FOUND', kind, object.metadata, 'not found');
    const { uid, resourceVersion } = object.metadata;
    if (resourceVersion === undefined) throw refusal('KUBE_INVALID', kind, object.metadata, 'metadata.resourceVersion must be specified for an update');
    if (resourceVersion !== entry.object.metadata.resourceVersion || (uid !== undefined && uid !== entry.object.metadata.uid)) {
      throw refusal('KUBE_CONFLICT', kind, object.metadata, 'the object has been modified');
    }
    return entry;
  }

  #update(kind: KubeKind, entry: Entry, wanted: KubeObject): KubeObject {
    const before = entry.object;
    const identity = identityOf(before);
    const same: KubeObject = { ...wanted, metadata: { ...wanted.metadata, ...identity } };
    if (isDeepStrictEqual(JSON.parse(JSON.stringify(same)), JSON.parse(JSON.stringify(before)))) {
      this.#collection(kind).set(nameOf(before.metadata), entry);
      return before;
    }
    const next: KubeObject = isSpecEqual(same, before) ? same : { ...same, metadata: { ...same.metadata, generation: bumped(before) } };
    if (before.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0) return this.#drop(kind, next);
    return this.#save(kind, next, entry.applied);
  }

  #save(kind: KubeKind, object: KubeObject, applied: ReadonlyMap<string, KubeObject>): KubeObject {
    this.#revision += 1;
    const saved = withoutUndefined({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } });
    this.#collection(kind).set(nameOf(saved.metadata), { object: saved, applied });
    this.#emit(kind, saved, false);
    return saved;
  }

  #drop(kind: KubeKind, object: KubeObject): KubeObject {
    this.#revision += 1;
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
    this.#collection(kind).delete(nameOf(object.metadata));
    this.#emit(kind, last, true);
    return last;
  }

  #entry(kind: KubeKind, ref: KubeRef): Entry | undefined {
    return this.#entries.get(kindKeyOf(kind))?.get(nameOf(ref));
  }

  #collection(kind: KubeKind): Map<string, Entry> {
    const collection = this.#entries.get(kindKeyOf(kind)) ?? new Map<string, Entry>();
    this.#entries.set(kindKeyOf(kind), collection);
    return collection;
  }

  #timestamp(): string {
    return `${new Date(this.#now()).toISOString().slice(0, 19)}Z`;
  }
}

/** The error that an API server answers with. */
export function refusal(code: string, kind: KubeKind, ref: KubeRef, text: string): FleetError {
  return new FleetError(code, 'user', `${kind.plural} "${nameOf(ref)}": ${text}`);
}

const nameOf = (ref: KubeRef): string => (ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`);

const hasGeneration = (kind: KubeKind): boolean => kind.group === 'apps' || !isBuiltInGroup(kind.group);

const bumped = (before: KubeObject): number | undefined => (before.metadata.generation === undefined ? undefined : before.metadata.generation + 1);

const withoutStatus = (object: KubeObject): KubeObject => Object.fromEntries(Object.entries(object).filter(([field]) => field !== 'status')) as unknown as KubeObject;

const statusOf = (object: KubeObject): { readonly status?: unknown } => (object['status'] === undefined ? {} : { status: object['status'] });

// What no writer can change.
function identityOf({ metadata }: KubeObject): object {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  return { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp };
}

function isSpecEqual(a: KubeObject, b: KubeObject): boolean {
  const specOf = (object: KubeObject): unknown => JSON.parse(JSON.stringify({ ...withoutStatus(object), metadata: undefined }));
  return isDeepStrictEqual(specOf(a), specOf(b));
}

const withoutUndefined = (object: KubeObject): KubeObject => JSON.parse(JSON.stringify(object)) as KubeObject;

function checkName(kind: KubeKind, object: KubeObject): void {
  // RBAC names are path segments; everything else that we write is a DNS subdomain.
  const pattern = kind.group === 'rbac.authorization.k8s.io' ? /^[^/%]+$/ : /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/;
  if (!pattern.test(object.metadata.name)) throw refusal('KUBE_INVALID', kind, object.metadata, 'metadata.name is invalid');
  if (kind.namespaced && object.metadata.namespace === undefined) throw refusal('KUBE_INVALID', kind, object.metadata, 'an empty namespace may not be set during creation');
}
