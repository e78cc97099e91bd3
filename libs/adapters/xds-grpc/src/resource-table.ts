import type { EncodedResource } from '#contracts/envoy';

/** What changed in a table since some revision. */
export interface TableChanges {
  readonly changed: readonly EncodedResource[];
  readonly removed: readonly string[];
}

/** Removed names that a table remembers; a stream that is further behind must start again. */
const REMEMBERED_REMOVALS_MAX = 100_000;

interface Row {
  readonly resource: EncodedResource;
  readonly changedAt: number;
}

/**
 * The current resources of one type. Every replacement is a revision; streams remember only the revision they were sent,
 * so that a thousand streams cost a thousand numbers, not a thousand copies of what each client has.
 */
export class ResourceTable {
  #rows = new Map<string, Row>();
  #removedAt = new Map<string, number>();
  /** Streams that were sent an earlier revision than this one cannot be told what was removed. */
  #oldestKnown = 0;
  #cached: { readonly revision: number; readonly since: number; readonly changes: TableChanges } | undefined;
  #revision = 0;

  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#rows.size;
  }

  find(name: string): EncodedResource | undefined {
    return this.#rows.get(name)?.resource;
  }

  /** Revision in which the resource got its present content, or was removed; 0 where nobody ever had it. */
  changedAt(name: string): number {
    return this.#rows.get(name)?.changedAt ?? this.#removedAt.get(name) ?? 0;
  }

  all(): readonly EncodedResource[] {
    return [...this.#rows.values()].map((row) => row.resource);
  }

  /** Makes these the resources. Only what has another version than before is encoded. */
  replace<T extends { readonly name: string; readonly version: string }>(resources: readonly T[], revision: number, encode: (resource: T) => EncodedResource): void {
    const rows = new Map<string, Row>();
    for (const resource of resources) {
      const old = this.#rows.get(resource.name);
      rows.set(resource.name, old?.resource.version === resource.version ? old : { resource: encode(resource), changedAt: revision });
      this.#removedAt.delete(resource.name);
    }
    for (const name of this.#rows.keys()) {
      if (!rows.has(name)) this.#removedAt.set(name, revision);
    }
    this.#rows = rows;
    this.#revision = revision;
    this.#forgetOldRemovals();
  }

  /** What changed since a revision, or undefined where that is too long ago to tell. */
  changesSince(since: number): TableChanges | undefined {
    if (since < this.#oldestKnown) return undefined;
    if (this.#cached?.revision === this.#revision && this.#cached.since === since) return this.#cached.changes;
    const changes: TableChanges = {
      changed: [...this.#rows.values()].filter((row) => row.changedAt > since).map((row) => row.resource),
      removed: [...this.#removedAt].filter(([, revision]) => revision > since).map(([name]) => name),
    };
    this.#cached = { revision: this.#revision, since, changes };
    return changes;
  }

  #forgetOldRemovals(): void {
    const tooMany = this.#removedAt.size - REMEMBERED_REMOVALS_MAX;
    for (const [name, revision] of [...this.#removedAt].slice(0, Math.max(0, tooMany))) {
      this.#removedAt.delete(name);
      this.#oldestKnown = Math.max(this.#oldestKnown, revision);
    }
  }
}
