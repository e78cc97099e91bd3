import type { IncomingMessage } from 'node:http';

import { FleetError, isFleetError } from '#domain/fleet';
import type { Clock, KubeKind, KubeObject, KubeSelection, KubeWatch, KubeWatchHandler, Random } from '#ports';

import { networkError, statusError } from './kube-errors.js';
import { listAll } from './kube-list.js';
import { collectionPath, queryText } from './kube-paths.js';
import { REQUEST_DEADLINE_MS, type KubeTransport } from './kube-transport.js';

/** Bounds of the wait between attempts to get a watch back. */
const WATCH_BACKOFF = { firstMs: 250, maxMs: 30_000 } as const;

/** A stream this silent is taken for dead and resumed: API servers send a bookmark at least every 75 s. */
const WATCH_IDLE_MS = 90_000;

/** Largest watch event that is read. */
const EVENT_CHARS_MAX = 16 * 1024 * 1024;

interface WatchParts {
  readonly transport: KubeTransport;
  readonly kind: KubeKind;
  readonly selection: KubeSelection;
  readonly handler: KubeWatchHandler;
  readonly clock: Clock;
  readonly random: Random;
}

interface WatchState {
  /** Version to follow from; undefined asks for a list first. */
  resourceVersion: string | undefined;
  synced: boolean;
  lostSinceMs: number | undefined;
  failures: number;
  /** Identity and version of every object that the handler holds: what a relist compares with. */
  readonly known: Map<string, KnownObject>;
}

interface KnownObject {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** Lists a kind, then follows it for ever. */
export function followKind(parts: WatchParts): KubeWatch {
  const stopped = new AbortController();
  void follow(parts, stopped.signal);
  return { stop: () => stopped.abort() };
}

async function follow(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const state: WatchState = { resourceVersion: undefined, synced: false, lostSinceMs: undefined, failures: 0, known: new Map() };
  while (!signal.aborted) {
    try {
      if (state.resourceVersion === undefined) await relist(parts, state, signal);
      if (!signal.aborted) await stream(parts, state, signal);
    } catch (error) {
      if (!signal.aborted) await recover(parts, state, signal, error);
    }
  }
}

async function recover(parts: WatchParts, state: WatchState, signal: AbortSignal, error: unknown): Promise<void> {
  if (isFleetError(error) && error.code === 'KUBE_EXPIRED') {
    state.resourceVersion = undefined;
    if (state.failures === 0) {
      // An expired version is no loss of the server: list again at once, but not twice in a row.
      state.failures = 1;
      return;
    }
  }
  // Whatever else is not about the connection (a handler that threw, an answer we cannot read) starts from a list again.
  if (!isFleetError(error) || error.kind !== 'transient') state.resourceVersion = undefined;
  if (state.lostSinceMs === undefined) {
    state.lostSinceMs = parts.clock.nowMs();
    parts.handler.connection?.(state.lostSinceMs);
  }
  parts.handler.failed?.(error instanceof Error ? error : new FleetError('KUBE_WATCH_FAILED', 'bug', String(error)));
  const ceilingMs = Math.min(WATCH_BACKOFF.maxMs, WATCH_BACKOFF.firstMs * 2 ** Math.min(state.failures, 16));
  state.failures += 1;
  await parts.clock.sleep(Math.round(ceilingMs * (0.5 + parts.random.next() / 2)), signal);
}

function markConnected(parts: WatchParts, state: WatchState): void {
  if (state.lostSinceMs === undefined) return;
  state.lostSinceMs = undefined;
  parts.handler.connection?.(undefined);
}

async function relist(parts: WatchParts, state: WatchState, signal: AbortSignal): Promise<void> {
  const list = await listAll(parts.transport, parts.kind, parts.selection);
  if (signal.aborted) return;
  const gone = new Map(state.known);
  for (const object of list.objects) {
    gone.delete(keyOf(object));
    upsert(parts, state, object);
  }
  for (const known of gone.values()) forget(parts, state, known);
  state.resourceVersion = list.resourceVersion;
  if (!state.synced) {
    state.synced = true;
    parts.handler.synced();
  }
}

function upsert(parts: WatchParts, state: WatchState, object: KubeObject): void {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const before = state.known.get(keyOf(object));
  if (before !== undefined && before.uid === uid && before.resourceVersion === resourceVersion) return;
  parts.handler.upsert(object);
  // Only now: what a handler failed on must come to it again.
  state.known.set(keyOf(object), { namespace, name, uid, resourceVersion });
}

function forget(parts: WatchParts, state: WatchState, known: KnownObject): void {
  const { group, version, kind } = parts.kind;
  parts.handler.remove({ apiVersion: group === '' ? version : `${group}/${version}`, kind, metadata: known });
  state.known.delete(`${known.namespace ?? ''}/${known.name}`);
}

const keyOf = (object: KubeObject): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;

async function stream(parts: WatchParts, state: WatchState, signal: AbortSignal): Promise<void> {
  const idle = new IdleTimer(REQUEST_DEADLINE_MS);
  try {
    const query = queryText({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: state.resourceVersion,
      timeoutSeconds: String(300 + Math.round(parts.random.next() * 300)),
      labelSelector: parts.selection.labelSelector,
      fieldSelector: parts.selection.fieldSelector,
    });
    const path = `${collectionPath(parts.kind, parts.selection.namespace)}${query}`;
    const response = await parts.transport.open({ method: 'GET', path }, AbortSignal.any([signal, idle.signal]));
    idle.restart(WATCH_IDLE_MS);
    markConnected(parts, state);
    for await (const line of linesOf(response, idle)) {
      if (signal.aborted) return;
      applyEvent(parts, state, line);
      // Only a stream that brings something proves that the next failure is a new one.
      state.failures = 0;
    }
    // A server that ends its streams at once must not be asked in a tight loop.
    if (!idle.wasFed) throw new FleetError('KUBE_UNREACHABLE', 'transient', `${parts.transport.server} ended the watch of ${parts.kind.plural} at once.`);
  } catch (error) {
    throw networkError(idle.signal.aborted ? idle.signal.reason : error, { method: 'WATCH', path: parts.kind.plural, server: parts.transport.server });
  } finally {
    idle.stop();
  }
}

/** Aborts when it is not fed in time. */
class IdleTimer {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout;
  wasFed = false;
  constructor(idleMs: number) {
    this.#timer = this.#start(idleMs);
  }
  restart(idleMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = this.#start(idleMs);
  }
  #start(idleMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#controller.abort(new DOMException('The stream went silent.', 'TimeoutError')), idleMs).unref();
  }
  get signal(): AbortSignal {
    return this.#controller.signal;
  }
  feed(): void {
    this.wasFed = true;
    this.#timer.refresh();
  }
  stop(): void {
    clearTimeout(this.#timer);
  }
}

async function* linesOf(response: IncomingMessage, idle: IdleTimer): AsyncGenerator<string> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response as AsyncIterable<string>) {
    idle.feed();
    rest += chunk;
    let start = 0;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      if (end > start) yield rest.slice(start, end);
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > EVENT_CHARS_MAX) throw new FleetError('KUBE_SERVER_ERROR', 'transient', `A watch event is larger than ${EVENT_CHARS_MAX} characters.`);
  }
}

interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject & { readonly code?: number };
}

function applyEvent(parts: WatchParts, state: WatchState, line: string): void {
  const event = JSON.parse(line) as WatchEvent;
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
      upsert(parts, state, event.object);
      break;
    case 'DELETED':
      parts.handler.remove(event.object);
      state.known.delete(keyOf(event.object));
      break;
    case 'BOOKMARK':
      break;
    case 'ERROR':
      throw statusError(event.object.code ?? 500, JSON.stringify(event.object), { method: 'WATCH', path: parts.kind.plural, server: parts.transport.server });
    default:
      return;
  }
  state.resourceVersion = event.object.metadata.resourceVersion;
}
