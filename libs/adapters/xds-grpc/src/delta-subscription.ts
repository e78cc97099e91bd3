import type { DeltaRequest, EncodedResource } from '#contracts/envoy';

import type { AckStatus } from './acknowledgements.js';
import type { ResourceTable } from './resource-table.js';
import { shortText } from './short-text.js';

/** Resources and removals that belong into one response (or several, where they are too many for one). */
export interface DeltaContent {
  readonly resources: readonly EncodedResource[];
  readonly removed: readonly string[];
}

/** Responses of one type that may await their ACK; a client with more of them only asks and never answers. */
export const UNANSWERED_RESPONSES_MAX = 64;

const WILDCARD = '*';

/**
 * What one stream asks for of one resource type, and how far it was served: the delta rules of the xDS protocol without
 * any I/O. Comments cite the rules of docs/xds.md.
 */
export class DeltaSubscription {
  readonly #table: ResourceTable;
  readonly #names = new Set<string>();
  /** `legacy` is an empty first list, which means `*` only until names are sent (rule 5). */
  #wildcard: 'none' | 'explicit' | 'legacy' = 'none';
  /** Whether the first request's answer is still owed; `answered` after it was given. */
  #first: 'absent' | 'owed' | 'answered' = 'absent';
  #clientVersions: Readonly<Record<string, string>> = {};
  #clientVersionCount = 0;
  readonly #owedNames = new Set<string>();
  #isOwedEverything = false;
  /** Table revision up to which changes were sent. */
  #sentRevision = 0;
  /** By nonce: the version of each resource in the response, '' for a removal. */
  readonly #unanswered = new Map<string, ReadonlyMap<string, string>>();
  readonly #rejected = new Map<string, { readonly version: string; readonly message: string }>();

  constructor(table: ResourceTable) {
    this.#table = table;
  }

  /** The most that is remembered of this client in one way or another. */
  get nameCount(): number {
    return Math.max(this.#names.size, this.#owedNames.size, this.#rejected.size, this.#clientVersionCount);
  }

  get unansweredCount(): number {
    return this.#unanswered.size;
  }

  get isAnswerOwed(): boolean {
    return this.#first === 'owed' || this.#isOwedEverything || this.#owedNames.size > 0;
  }

  /** Whether the stream was sent an earlier revision than the present one. */
  get isBehind(): boolean {
    return this.#first === 'answered' && this.#sentRevision < this.#table.revision;
  }

  /** Takes in a request; what it asks for is owed until {@link takeAnswer}. Returns what it said of an earlier response. */
  receive(request: DeltaRequest): 'ack' | 'nack' | 'stale' | 'none' {
    const verdict = this.#receiveVerdict(request);
    // Rule 2: a stale nonce voids the ACK only; the subscriptions in the request count.
    if (this.#first === 'absent') this.#receiveFirst(request);
    else this.#receiveNext(request);
    return verdict;
  }

  /** The answer to all requests since the last call, from the present resources. */
  takeAnswer(): DeltaContent {
    const content = this.#first === 'owed' ? this.#firstAnswer() : this.#nextAnswer();
    this.#owedNames.clear();
    this.#isOwedEverything = false;
    return content;
  }

  /** What changed for this stream since it was last told; undefined where it is too far behind and must start again. */
  takeChanges(): DeltaContent | undefined {
    const changes = this.#table.changesSince(this.#sentRevision);
    this.#sentRevision = this.#table.revision;
    if (changes === undefined || this.#wildcard !== 'none') return changes && { resources: changes.changed, removed: changes.removed };
    return { resources: changes.changed.filter((resource) => this.#names.has(resource.name)), removed: changes.removed.filter((name) => this.#names.has(name)) };
  }

  /** Remembers what went out under a nonce until the client answers it. */
  sent(nonce: string, content: DeltaContent): void {
    this.#unanswered.set(nonce, new Map([...content.resources.map(({ name, version }) => [name, version] as const), ...content.removed.map((name) => [name, ''] as const)]));
  }

  /** What the client said of a resource's present content. */
  status(name: string): AckStatus {
    if (this.#first === 'absent' || (this.#wildcard === 'none' && !this.#names.has(name))) return { kind: 'unknown' };
    const version = this.#table.find(name)?.version ?? '';
    if (this.#first === 'owed' || this.#table.changedAt(name) > this.#sentRevision || this.#isUnanswered(name)) return { kind: 'pending', version };
    const rejected = this.#rejected.get(name);
    return rejected?.version === version ? { kind: 'nacked', ...rejected } : { kind: 'acked', version };
  }

  #isUnanswered(name: string): boolean {
    return [...this.#unanswered.values()].some((versions) => versions.has(name));
  }

  #receiveVerdict({ responseNonce, errorMessage }: DeltaRequest): 'ack' | 'nack' | 'stale' | 'none' {
    if (responseNonce === '') return 'none';
    const versions = this.#unanswered.get(responseNonce);
    if (versions === undefined) return 'stale';
    this.#unanswered.delete(responseNonce);
    for (const [name, version] of versions) {
      if (errorMessage === undefined) this.#rejected.delete(name);
      else if (this.#isOurs(name)) this.#rejected.set(name, { version, message: shortText(errorMessage) });
    }
    return errorMessage === undefined ? 'ack' : 'nack';
  }

  /** Whether the client still asks for the name, or it is or was ours: what anybody may make up is not remembered. */
  #isOurs(name: string): boolean {
    return this.#names.has(name) || this.#table.changedAt(name) > 0;
  }

  #receiveFirst(request: DeltaRequest): void {
    this.#first = 'owed';
    this.#clientVersions = request.initialResourceVersions;
    this.#clientVersionCount = Object.keys(request.initialResourceVersions).length;
    if (request.subscribe.length === 0) this.#wildcard = 'legacy';
    for (const name of request.subscribe) this.#subscribe(name);
  }

  #receiveNext(request: DeltaRequest): void {
    for (const name of request.subscribe) {
      this.#subscribe(name);
      // Rule 3: a name asked for again is answered even if the client should have it.
      if (name === WILDCARD) this.#isOwedEverything = true;
      else this.#owedNames.add(name);
    }
    for (const name of request.unsubscribe) this.#unsubscribe(name);
  }

  #subscribe(name: string): void {
    if (name === WILDCARD) this.#wildcard = 'explicit';
    else this.#names.add(name);
    if (this.#wildcard === 'legacy') this.#wildcard = 'none';
  }

  #unsubscribe(name: string): void {
    if (name === WILDCARD) this.#wildcard = 'none';
    else this.#names.delete(name);
    if (!this.#isOurs(name)) this.#rejected.delete(name);
    // Rule 5: a name that `*` still covers is answered, so that the client does not take it for gone.
    if (name !== WILDCARD && this.#wildcard !== 'none') this.#owedNames.add(name);
    else this.#owedNames.delete(name);
  }

  /** Rule 4: only differences to what the client says it has, and the removal of what vanished meanwhile. */
  #firstAnswer(): DeltaContent {
    this.#first = 'answered';
    this.#sentRevision = this.#table.revision;
    const known = this.#clientVersions;
    this.#clientVersions = {};
    this.#clientVersionCount = 0;
    const asked = [...this.#names, ...this.#owedNames];
    const wanted = this.#wildcard === 'none' ? asked.flatMap((name) => this.#table.find(name) ?? []) : this.#table.all();
    const vanished = Object.keys(known).filter((name) => this.#wildcard !== 'none' || this.#names.has(name));
    return {
      resources: uniqueByName(wanted).filter((resource) => known[resource.name] !== resource.version),
      removed: [...new Set([...asked, ...vanished])].filter((name) => this.#table.find(name) === undefined),
    };
  }

  #nextAnswer(): DeltaContent {
    const names = [...this.#owedNames];
    return {
      resources: this.#isOwedEverything ? this.#table.all() : names.flatMap((name) => this.#table.find(name) ?? []),
      removed: names.filter((name) => this.#table.find(name) === undefined),
    };
  }
}

// Rule 8: a name twice in one response would be rejected.
const uniqueByName = (resources: readonly EncodedResource[]): EncodedResource[] => [...new Map(resources.map((resource) => [resource.name, resource])).values()];
