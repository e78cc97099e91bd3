import { CLUSTER_TYPE_URL, encodeDeltaResponse, LOAD_ASSIGNMENT_TYPE_URL, type DeltaRequest, type XdsTypeUrl } from '#contracts/envoy';

import type { AckStatus } from './acknowledgements.js';
import { MORE_FOLLOWS } from './ads-service.js';
import { DeltaSubscription, UNANSWERED_RESPONSES_MAX, type DeltaContent } from './delta-subscription.js';
import type { ResourceTable } from './resource-table.js';

/** The tables that all streams are served from; not ready until the first snapshot was set. */
export interface ServedTables {
  readonly clusters: ResourceTable;
  readonly loadAssignments: ResourceTable;
  readonly isReady: boolean;
}

/** Bounds of one stream. */
export interface StreamLimits {
  readonly namesMax: number;
  readonly responseBytesMax: number;
}

/** Where a stream's responses go. `write` returns false when the peer reads slower than we write; `onDrain` follows. */
export interface StreamSink {
  write(bytes: Uint8Array): boolean;
  onDrain(callback: () => void): void;
  /** The stream is too far behind to be told what was removed: it must start again with what it has. */
  onTooFarBehind(): void;
}

/** What a request was, for metrics and listeners; `excess` ends the stream. */
export type RequestOutcome = 'ack' | 'nack' | 'stale' | 'none' | 'unknown-type' | 'excess';

interface Part {
  readonly typeUrl: XdsTypeUrl;
  readonly subscription: DeltaSubscription;
  readonly content: DeltaContent;
}

/** Ours have four Kubernetes names at most. */
export const NAME_LENGTH_MAX = 1_024;

/**
 * One client's delta ADS stream: serves both resource types in make-before-break order and holds at most one unanswered
 * round of changes. While a client is slow to read or to acknowledge, changes do not queue: it gets their sum later.
 */
export class XdsStream {
  readonly #tables: ServedTables;
  readonly #limits: StreamLimits;
  readonly #sink: StreamSink;
  readonly #subscriptions: Readonly<Record<XdsTypeUrl, DeltaSubscription>>;
  /** Nonces of the last round of changes that the client has not answered yet. */
  readonly #roundNonces = new Set<string>();
  #lastNonce = 0;
  #isBlocked = false;

  constructor(tables: ServedTables, limits: StreamLimits, sink: StreamSink) {
    this.#tables = tables;
    this.#limits = limits;
    this.#sink = sink;
    this.#subscriptions = { [CLUSTER_TYPE_URL]: new DeltaSubscription(tables.clusters), [LOAD_ASSIGNMENT_TYPE_URL]: new DeltaSubscription(tables.loadAssignments) };
  }

  /** Whether the client has not answered the last round of changes. */
  get isAwaitingAnswer(): boolean {
    return this.#roundNonces.size > 0;
  }

  status(typeUrl: XdsTypeUrl, name: string): AckStatus {
    return this.#subscriptions[typeUrl].status(name);
  }

  /** Takes in a request and writes what it makes due. */
  receive(request: DeltaRequest): RequestOutcome {
    const subscription = this.#findSubscription(request.typeUrl);
    if (subscription === undefined) return 'unknown-type';
    if ([request.subscribe, request.unsubscribe, Object.keys(request.initialResourceVersions)].some((names) => names.some((name) => name.length > NAME_LENGTH_MAX))) return 'excess';
    const verdict = subscription.receive(request);
    this.#roundNonces.delete(request.responseNonce);
    if (subscription.nameCount > this.#limits.namesMax || subscription.unansweredCount > UNANSWERED_RESPONSES_MAX) return 'excess';
    this.flush();
    return verdict;
  }

  /** Writes owed answers, then changes. */
  flush(): void {
    if (!this.#tables.isReady) return;
    for (const typeUrl of [CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL] as const) {
      const subscription = this.#subscriptions[typeUrl];
      if (subscription.isAnswerOwed && !this.#isBlocked) this.#writeRound([{ typeUrl, subscription, content: subscription.takeAnswer() }]);
    }
    if (!this.#isBlocked && !this.isAwaitingAnswer) this.#writeChanges();
  }

  #findSubscription(typeUrl: string): DeltaSubscription | undefined {
    return typeUrl === CLUSTER_TYPE_URL || typeUrl === LOAD_ASSIGNMENT_TYPE_URL ? this.#subscriptions[typeUrl] : undefined;
  }

  /** Make before break (rule 9): new and changed clusters, then load assignments, and removals last. */
  #writeChanges(): void {
    const clusters = this.#takeChanges(CLUSTER_TYPE_URL);
    const assignments = this.#takeChanges(LOAD_ASSIGNMENT_TYPE_URL);
    if (clusters === undefined || assignments === undefined) {
      this.#sink.onTooFarBehind();
      return;
    }
    const parts = [
      { ...clusters, content: { resources: clusters.content.resources, removed: [] } },
      { ...assignments, content: { resources: assignments.content.resources, removed: [] } },
      { ...clusters, content: { resources: [], removed: clusters.content.removed } },
      { ...assignments, content: { resources: [], removed: assignments.content.removed } },
    ].filter(({ content }) => content.resources.length + content.removed.length > 0);
    for (const nonce of this.#writeRound(parts)) this.#roundNonces.add(nonce);
  }

  #takeChanges(typeUrl: XdsTypeUrl): Part | undefined {
    const subscription = this.#subscriptions[typeUrl];
    const content = subscription.isBehind ? subscription.takeChanges() : { resources: [], removed: [] };
    return content && { typeUrl, subscription, content };
  }

  #writeRound(parts: readonly Part[]): string[] {
    const messages = parts.flatMap((part) => splitBySize(part.content, this.#limits.responseBytesMax).map((content) => ({ ...part, content })));
    return messages.map((message, index) => this.#write(message, index < messages.length - 1));
  }

  #write({ typeUrl, subscription, content }: Part, doesMoreFollow: boolean): string {
    this.#lastNonce += 1;
    const nonce = String(this.#lastNonce);
    const systemVersion = `${this.#tables.clusters.revision}${doesMoreFollow ? MORE_FOLLOWS : ''}`;
    subscription.sent(nonce, content);
    const canTakeMore = this.#sink.write(encodeDeltaResponse({ typeUrl, nonce, systemVersion, resources: content.resources.map((resource) => resource.bytes), removed: content.removed }));
    if (!canTakeMore && !this.#isBlocked) this.#waitForDrain();
    return nonce;
  }

  #waitForDrain(): void {
    this.#isBlocked = true;
    this.#sink.onDrain(() => {
      this.#isBlocked = false;
      this.flush();
    });
  }
}

/** Splits what is too much for one message; removals go with the last part. At least one part, even if empty. */
function splitBySize(content: DeltaContent, bytesMax: number): DeltaContent[] {
  const parts: DeltaContent[] = [];
  let resources: DeltaContent['resources'][number][] = [];
  let bytes = 0;
  for (const resource of content.resources) {
    if (resources.length > 0 && bytes + resource.bytes.length > bytesMax) {
      parts.push({ resources, removed: [] });
      resources = [];
      bytes = 0;
    }
    resources.push(resource);
    bytes += resource.bytes.length;
  }
  return [...parts, { resources, removed: content.removed }];
}
