import { CLUSTER_TYPE_URL, encodeSotwResponse, LISTENER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL, type SotwRequest } from '#contracts/envoy';

import type { ResourceTable } from './resource-table.js';
import { SotwSubscription } from './sotw-subscription.js';
import { NAME_LENGTH_MAX, type RequestOutcome, type StreamLimits, type StreamSink } from './xds-stream.js';

/** The tables that state-of-the-world streams are served from. */
export interface SotwTables {
  readonly listeners: ResourceTable;
  readonly clusters: ResourceTable;
  readonly loadAssignments: ResourceTable;
  readonly isReady: boolean;
}

/** Clusters and their endpoints come before the listeners that lead to them (make before break). */
const ORDER = [CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL, LISTENER_TYPE_URL] as const;

/**
 * One client's state-of-the-world ADS stream, as gRPC clients speak it. Of each type at most one response is unanswered;
 * what changes meanwhile is told in sum once it is.
 */
export class SotwStream {
  readonly #tables: SotwTables;
  readonly #limits: StreamLimits;
  readonly #sink: StreamSink;
  readonly #subscriptions: ReadonlyMap<string, SotwSubscription>;
  #lastNonce = 0;
  #isBlocked = false;

  constructor(tables: SotwTables, limits: StreamLimits, sink: StreamSink) {
    this.#tables = tables;
    this.#limits = limits;
    this.#sink = sink;
    this.#subscriptions = new Map([
      [CLUSTER_TYPE_URL, new SotwSubscription(tables.clusters, 'everything')],
      [LOAD_ASSIGNMENT_TYPE_URL, new SotwSubscription(tables.loadAssignments, 'changes')],
      [LISTENER_TYPE_URL, new SotwSubscription(tables.listeners, 'everything')],
    ]);
  }

  /** Whether the client has not answered some response. */
  get isAwaitingAnswer(): boolean {
    return [...this.#subscriptions.values()].some((subscription) => subscription.isAwaitingAnswer);
  }

  /** Takes in a request and writes what it makes due. */
  receive(request: SotwRequest): RequestOutcome {
    const subscription = this.#subscriptions.get(request.typeUrl);
    if (subscription === undefined) return 'unknown-type';
    if (request.names.some((name) => name.length > NAME_LENGTH_MAX)) return 'excess';
    const verdict = subscription.receive(request);
    if (subscription.nameCount > this.#limits.namesMax) return 'excess';
    this.flush();
    return verdict;
  }

  /** Writes what is due. */
  flush(): void {
    if (!this.#tables.isReady) return;
    for (const typeUrl of ORDER) {
      const subscription = this.#subscriptions.get(typeUrl);
      if (subscription !== undefined && !this.#isBlocked) this.#write(typeUrl, subscription);
    }
  }

  #write(typeUrl: string, subscription: SotwSubscription): void {
    const due = subscription.takeDue();
    if (due === undefined) return;
    this.#lastNonce += 1;
    const nonce = String(this.#lastNonce);
    subscription.sent(nonce);
    const version = String(this.#tables.clusters.revision);
    if (this.#sink.write(encodeSotwResponse({ typeUrl, nonce, version, resources: due.map(({ content }) => content) })) || this.#isBlocked) return;
    this.#isBlocked = true;
    this.#sink.onDrain(() => {
      this.#isBlocked = false;
      this.flush();
    });
  }
}
