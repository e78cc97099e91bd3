import type { EncodedResource, SotwRequest } from '#contracts/envoy';

import type { ResourceTable } from './resource-table.js';

/**
 * What one state-of-the-world stream asks for of one type, and what it has. Of listeners and clusters a response says
 * everything that the client asked for, and what is not in it is gone; of load assignments it may say what changed alone
 * (xDS protocol, "How the client specifies what resources to return").
 */
export class SotwSubscription {
  readonly #table: ResourceTable;
  readonly #says: 'everything' | 'changes';
  #names: ReadonlySet<string> | undefined;
  /** No name was ever given: everything there is. */
  #isWildcard = false;
  #isNamesNew = false;
  #lastNonce = '';
  #isAwaiting = false;
  #lookedAtRevision = -1;
  /** Name → version of what the client was sent and still asks for. */
  #told = new Map<string, string>();

  constructor(table: ResourceTable, says: 'everything' | 'changes') {
    this.#table = table;
    this.#says = says;
  }

  get nameCount(): number {
    return this.#names?.size ?? 0;
  }

  get isAwaitingAnswer(): boolean {
    return this.#isAwaiting;
  }

  /** Takes in a request. One that answers an older response than the last is void, its names too. */
  receive({ names, responseNonce, errorMessage }: SotwRequest): 'ack' | 'nack' | 'stale' | 'none' {
    if (responseNonce !== '' && responseNonce !== this.#lastNonce) return 'stale';
    const isFirst = this.#names === undefined;
    const isSame = !isFirst && names.length === this.#names?.size && names.every((name) => this.#names?.has(name));
    this.#isWildcard = names.length === 0 && (isFirst || this.#isWildcard) && this.#says === 'everything';
    this.#names = new Set(names);
    this.#isNamesNew ||= !isSame;
    if (responseNonce === '') return 'none';
    this.#isAwaiting = false;
    return errorMessage === undefined ? 'ack' : 'nack';
  }

  /** What a response must say now; undefined where none is due. */
  takeDue(): readonly EncodedResource[] | undefined {
    if (this.#names === undefined || this.#isAwaiting) return undefined;
    if (!this.#isNamesNew && this.#lookedAtRevision === this.#table.revision) return undefined;
    const isFirst = this.#lookedAtRevision < 0;
    this.#lookedAtRevision = this.#table.revision;
    const isNamesNew = this.#isNamesNew;
    this.#isNamesNew = false;
    const wanted = this.#isWildcard ? this.#table.all() : [...this.#names].flatMap((name) => this.#table.find(name) ?? []);
    const changed = wanted.filter(({ name, version }) => this.#told.get(name) !== version);
    const isLess = [...this.#told.keys()].some((name) => this.#table.find(name) === undefined);
    this.#told = new Map(wanted.map(({ name, version }) => [name, version]));
    if (this.#says === 'changes') return changed.length > 0 ? changed : undefined;
    return changed.length > 0 || isLess || isFirst || isNamesNew ? wanted : undefined;
  }

  /** Remembers the response that the client owes an answer for. */
  sent(nonce: string): void {
    this.#lastNonce = nonce;
    this.#isAwaiting = true;
  }
}
