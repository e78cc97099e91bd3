import { byKey, type BackendName, type Change, type ClusterId, type FleetView, type Freeze, type LogEntry, type MemberPart, type MemberState, type SamenessPolicy, splitBackendName } from '#domain/fleet';
import type { ChangeBatch, LoadedView } from '#ports';

import { TouchLog } from './touch-log.js';

/**
 * The fold of the change log: one replica's view, changed in place by work that is proportional to what changed, with the
 * number at which each backend was last touched. Between two batches nothing moves, so readers within one turn of the event
 * loop see one state.
 */
export class FleetFold {
  readonly epoch: string;
  readonly #members: Map<ClusterId, MemberState>;
  readonly #parts: Map<BackendName, readonly MemberPart[]>;
  readonly #policies: Map<string, SamenessPolicy>;
  readonly #namesByCluster = new Map<ClusterId, Set<BackendName>>();
  readonly #namesByNamespace = new Map<string, Set<BackendName>>();
  readonly #touches: TouchLog;
  #freeze: Freeze | undefined;
  #sequence: bigint;
  #mark: string;
  #view: FleetView;

  constructor(loaded: LoadedView) {
    this.epoch = loaded.epoch;
    this.#sequence = loaded.sequence;
    this.#mark = loaded.mark;
    this.#members = new Map(loaded.view.members);
    this.#parts = new Map(loaded.view.parts);
    this.#policies = new Map(loaded.view.policies.map((policy) => [policy.name, policy]));
    this.#freeze = loaded.view.freeze;
    for (const [name, parts] of this.#parts) for (const part of parts) this.#index(part.clusterId, name);
    this.#view = this.#assemble();
    // The oldest entry that is still there tells from where on nothing was forgotten.
    this.#touches = new TouchLog(loaded.history[0] === undefined ? loaded.sequence : loaded.history[0].sequence - 1n);
    for (const entry of loaded.history) this.#touchEntry(entry);
  }

  get sequence(): bigint {
    return this.#sequence;
  }

  /** The mark of the entry of this number. */
  get mark(): string {
    return this.#mark;
  }

  get view(): FleetView {
    return this.#view;
  }

  /** What may differ for a consumer since a number: backend names, or `all`, or undefined where it is too long ago to say. */
  touchedSince(sequence: bigint, consumer: ClusterId): ReadonlySet<BackendName> | 'all' | undefined {
    return this.#touches.since(sequence, consumer);
  }

  /** Whether a member's paths may differ since a number: endpoints that come and go do not touch them. */
  havePathsMoved(sequence: bigint): boolean {
    return this.#touches.havePathsMoved(sequence);
  }

  /** Takes over a batch that continues this fold. */
  apply(batch: ChangeBatch): void {
    for (const change of batch.changes) this.#applyChange(change);
    this.#sequence = batch.sequence;
    this.#mark = batch.mark;
    this.#view = this.#assemble();
    this.#touches.compact(this.#parts.size);
  }

  #applyChange(change: Change): void {
    switch (change.kind) {
      case 'part':
        this.#applyPart(change);
        return;
      case 'member':
        this.#touchMember(change.sequence, change.clusterId);
        if (change.member === undefined) this.#members.delete(change.clusterId);
        else this.#members.set(change.clusterId, change.member);
        return;
      case 'policy':
        if (change.policy === undefined) this.#policies.delete(change.name);
        else this.#policies.set(change.name, change.policy);
        this.#touchNamespaces(change.sequence, change.namespaces);
        return;
      case 'freeze':
        this.#freeze = change.freeze;
        this.#touches.touchAll(change.sequence);
    }
  }

  #applyPart({ sequence, clusterId, name, part }: Extract<Change, { kind: 'part' }>): void {
    const before = this.#parts.get(name)?.find((other) => other.clusterId === clusterId);
    const others = (this.#parts.get(name) ?? []).filter((other) => other.clusterId !== clusterId);
    const parts = part === undefined ? others : [...others, part].sort(byKey((each) => each.clusterId));
    if (parts.length === 0) this.#parts.delete(name);
    else this.#parts.set(name, parts);
    if (part === undefined) this.#unindex(clusterId, name);
    else this.#index(clusterId, name);
    this.#touches.touch(sequence, name);
    if (portsText(before) !== portsText(part)) this.#touches.touchPaths(sequence);
  }

  #index(clusterId: ClusterId, name: BackendName): void {
    addTo(this.#namesByCluster, clusterId, name);
    addTo(this.#namesByNamespace, splitBackendName(name).namespace, name);
  }

  #unindex(clusterId: ClusterId, name: BackendName): void {
    removeFrom(this.#namesByCluster, clusterId, name);
    if (!this.#parts.has(name)) removeFrom(this.#namesByNamespace, splitBackendName(name).namespace, name);
  }

  #touchEntry({ sequence, target }: LogEntry): void {
    switch (target.kind) {
      case 'part':
        this.#touches.touch(sequence, target.name);
        this.#touches.touchPaths(sequence);
        return;
      case 'member':
        this.#touchMember(sequence, target.clusterId);
        return;
      case 'policy':
        this.#touchNamespaces(sequence, target.namespaces);
        return;
      case 'freeze':
        this.#touches.touchAll(sequence);
    }
  }

  // A member's own facts decide everything that it imports, and what others import of it.
  #touchMember(sequence: bigint, clusterId: ClusterId): void {
    for (const name of this.#namesByCluster.get(clusterId) ?? []) this.#touches.touch(sequence, name);
    this.#touches.touchConsumer(sequence, clusterId);
    this.#touches.touchPaths(sequence);
  }

  #touchNamespaces(sequence: bigint, patterns: readonly string[]): void {
    this.#touches.touchPaths(sequence);
    for (const pattern of patterns) {
      const namespaces = pattern.endsWith('*') ? [...this.#namesByNamespace.keys()].filter((namespace) => namespace.startsWith(pattern.slice(0, -1))) : [pattern];
      for (const namespace of namespaces) for (const name of this.#namesByNamespace.get(namespace) ?? []) this.#touches.touch(sequence, name);
    }
  }

  #assemble(): FleetView {
    const policies = [...this.#policies.values()].sort(byKey((policy) => policy.name));
    return { members: this.#members, parts: this.#parts, policies, freeze: this.#freeze };
  }
}

// Undefined is another text than that of a part without gateway ports.
const portsText = (part: MemberPart | undefined): string | undefined => (part === undefined ? undefined : JSON.stringify(part.gatewayPorts));

function addTo<K>(sets: Map<K, Set<BackendName>>, key: K, name: BackendName): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([name]));
  else set.add(name);
}

function removeFrom<K>(sets: Map<K, Set<BackendName>>, key: K, name: BackendName): void {
  const set = sets.get(key);
  set?.delete(name);
  if (set?.size === 0) sets.delete(key);
}
