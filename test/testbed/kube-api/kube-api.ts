import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';

import type { KubeAccess } from '../control-plane/kubeconfig.js';

/** An object as the API server sends it. */
export interface ApiObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** A refusal or failure of the API server. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Content types that PATCH knows. */
export type PatchType = 'merge' | 'strategic' | 'apply';

const PATCH_CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

const REQUEST_MS_MAX = 30_000;

/** A small client of one API server by plain paths (`/api/v1/namespaces/default/pods`); light enough to run in every kubelet. */
export class KubeApi {
  readonly access: KubeAccess;
  readonly #agent: Agent;

  constructor(access: KubeAccess) {
    this.access = access;
    const client = 'token' in access.user ? {} : { cert: access.user.certPem, key: access.user.keyPem };
    this.#agent = new Agent({ ca: access.caPem, ...client, keepAlive: true });
  }

  get<T = ApiObject>(path: string): Promise<T> {
    return this.send<T>('GET', path);
  }

  /** The object, or undefined where there is none. */
  async find(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async list(path: string): Promise<ApiObject[]> {
    return (await this.get<{ items: ApiObject[] }>(path)).items;
  }

  create<T = ApiObject>(path: string, body: unknown): Promise<T> {
    return this.send<T>('POST', path, { body });
  }

  /** Creates an object, and is content where it exists already. */
  async ensure(path: string, body: unknown): Promise<void> {
    try {
      await this.create(path, body);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  }

  replace(path: string, body: unknown): Promise<ApiObject> {
    return this.send('PUT', path, { body });
  }

  patch(path: string, body: unknown, type: PatchType = 'merge'): Promise<ApiObject> {
    const query = type === 'apply' ? '?fieldManager=testbed&force=true' : '';
    return this.send('PATCH', `${path}${query}`, { body, contentType: PATCH_CONTENT_TYPES[type] });
  }

  /** Deletes; an object that is already gone is no error. */
  async remove(path: string, body?: unknown): Promise<void> {
    try {
      await this.send('DELETE', path, body === undefined ? {} : { body });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
  }

  /** Sends one request and parses its JSON answer. A string body goes out as it is. */
  async send<T = ApiObject>(method: string, path: string, options: { readonly body?: unknown; readonly contentType?: string } = {}): Promise<T> {
    const response = await this.open(method, path, { ...options, timeoutMs: REQUEST_MS_MAX });
    const text = await readAll(response);
    return (response.headers['content-type']?.includes('json') === true ? JSON.parse(text) : text) as T;
  }

  /** Sends one request and returns its answer once it is known to be a good one, body unread: for watches and logs. */
  open(method: string, path: string, options: { readonly body?: unknown; readonly contentType?: string; readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}): Promise<IncomingMessage> {
    const body = options.body === undefined ? undefined : typeof options.body === 'string' ? options.body : JSON.stringify(options.body);
    const headers = {
      accept: 'application/json',
      ...('token' in this.access.user ? { authorization: `Bearer ${this.access.user.token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(`${this.access.server}${path}`, { method, agent: this.#agent, headers, ...(options.signal === undefined ? {} : { signal: options.signal }) }, (response) => {
        if ((response.statusCode ?? 500) < 400) resolve(response);
        else void readAll(response).then((text) => reject(refusal(method, path, response.statusCode ?? 500, text)), reject);
      });
      outgoing.on('error', reject);
      if (options.timeoutMs !== undefined) outgoing.setTimeout(options.timeoutMs, () => outgoing.destroy(new Error(`${method} ${path}: no answer within ${options.timeoutMs} ms`)));
      outgoing.end(body);
    });
  }

  /** Drops the connections that are kept open. */
  close(): void {
    this.#agent.destroy();
  }
}

/** The API path of a namespace's objects of a core kind, or of one of them. */
export const corePath = (namespace: string, plural: string, name = ''): string => `/api/v1/namespaces/${namespace}/${plural}${name === '' ? '' : `/${name}`}`;

async function readAll(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

function refusal(method: string, path: string, status: number, text: string): ApiError {
  let message = text.trim();
  try {
    message = (JSON.parse(text) as { message?: string }).message ?? message;
  } catch {
    // Not a Status object; its text is all there is.
  }
  return new ApiError(status, `${method} ${path}: ${status}: ${message}`);
}
