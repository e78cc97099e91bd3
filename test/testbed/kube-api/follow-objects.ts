import type { IncomingMessage } from 'node:http';

import { ApiError, type ApiObject, type KubeApi } from './kube-api.js';

/** Receives the level of what is followed. */
export interface FollowHandler<T extends ApiObject = ApiObject> {
  /** The object is now this. */
  upsert(object: T): void;
  /** The object is gone. */
  remove(object: T): void;
  /** A list is complete: called after the first, and after every later one. */
  synced?(): void;
}

/** Something that goes on until it is stopped. */
export interface Following {
  stop(): void;
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2_000;
const WATCH_SECONDS_MAX = 280;
// The server sends a bookmark about once a minute; a stream silent for longer has lost its other end.
const SILENCE_MS_MAX = 130_000;

/** Lists the objects below a path, then watches them; starts over for ever when the server goes away. */
export function followObjects<T extends ApiObject>(api: KubeApi, source: { readonly path: string; readonly fieldSelector?: string }, handler: FollowHandler<T>): Following {
  const abort = new AbortController();
  void followForEver(api, source, handler, abort.signal);
  return { stop: () => abort.abort() };
}

async function followForEver<T extends ApiObject>(api: KubeApi, source: { readonly path: string; readonly fieldSelector?: string }, handler: FollowHandler<T>, signal: AbortSignal): Promise<void> {
  const known = new Map<string, T>();
  const selector = source.fieldSelector === undefined ? '' : `&fieldSelector=${encodeURIComponent(source.fieldSelector)}`;
  let version: string | undefined;
  let retryMs = RETRY_MS_MIN;
  while (!signal.aborted) {
    try {
      version ??= await listOnce(api, `${source.path}?limit=10000${selector}`, known, handler);
      if (signal.aborted) return;
      retryMs = RETRY_MS_MIN;
      const query = `?watch=true&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS_MAX}&resourceVersion=${version}${selector}`;
      version = await watchOnce(await api.open('GET', `${source.path}${query}`, { signal }), known, handler, version);
    } catch (error) {
      // Only "your version is too old" needs a new list; anything else goes on from where it was.
      if (error instanceof ApiError) version = undefined;
      await pause(retryMs, signal);
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
  }
}

async function listOnce<T extends ApiObject>(api: KubeApi, path: string, known: Map<string, T>, handler: FollowHandler<T>): Promise<string> {
  const list = await api.get<{ metadata: { resourceVersion: string }; items: T[] }>(path);
  const present = new Set(list.items.map((item) => item.metadata.uid ?? ''));
  for (const [uid, object] of known) {
    if (present.has(uid)) continue;
    known.delete(uid);
    handler.remove(object);
  }
  for (const item of list.items) {
    known.set(item.metadata.uid ?? '', item);
    handler.upsert(item);
  }
  handler.synced?.();
  return list.metadata.resourceVersion;
}

async function watchOnce<T extends ApiObject>(response: IncomingMessage, known: Map<string, T>, handler: FollowHandler<T>, fromVersion: string): Promise<string> {
  let version = fromVersion;
  response.setEncoding('utf8');
  response.setTimeout(SILENCE_MS_MAX, () => response.destroy(new Error('the watch is silent')));
  let rest = '';
  for await (const chunk of response) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) version = applyEvent(JSON.parse(line) as WatchEvent<T>, known, handler) ?? version;
  }
  return version;
}

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { readonly code?: number; readonly message?: string };
}

function applyEvent<T extends ApiObject>(event: WatchEvent<T>, known: Map<string, T>, handler: FollowHandler<T>): string | undefined {
  const { object } = event;
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
      known.set(object.metadata.uid ?? '', object);
      handler.upsert(object);
      break;
    case 'DELETED':
      known.delete(object.metadata.uid ?? '');
      handler.remove(object);
      break;
    case 'BOOKMARK':
      break;
    case 'ERROR':
      throw new ApiError(object.code ?? 500, object.message ?? 'the watch failed');
    default:
      event.type satisfies never;
  }
  return object.metadata.resourceVersion;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
