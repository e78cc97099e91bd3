import { FleetError, isFleetError, plainText } from '#domain/fleet';
import { Kube, type KubeKind, type KubeObject, type KubePreconditions, type KubeRef, type KubeSelection, type KubeWatch, type KubeWatchHandler, type Random } from '#ports';

import type { KubeConnection } from './kube-connection.js';
import { listAll, type ListLimits } from './kube-list.js';
import { collectionPath, objectPath, queryText } from './kube-paths.js';
import { KubeTransport, type TransportOptions } from './kube-transport.js';
import { followKind } from './kube-watch.js';

/** Options of {@link HttpKube}. */
export interface HttpKubeOptions extends TransportOptions {
  readonly random: Random;
  /** Bounds of lists; default is DEFAULT_LIST_LIMITS. Watches begin with lists of the default bounds. */
  readonly listLimits?: ListLimits | undefined;
}

const VERSION_LENGTH_MAX = 64;

/** The Kube port over HTTPS to a real API server. */
export class HttpKube extends Kube {
  readonly #transport: KubeTransport;
  readonly #options: HttpKubeOptions;
  readonly #watches = new Set<KubeWatch>();
  constructor(connection: KubeConnection, options: HttpKubeOptions) {
    super();
    this.#options = options;
    this.#transport = new KubeTransport(connection, options);
  }

  async find(kind: KubeKind, ref: KubeRef): Promise<KubeObject | undefined> {
    try {
      return asObject((await this.#transport.send({ method: 'GET', path: objectPath(kind, ref) })).body, kind);
    } catch (error) {
      if (isFleetError(error) && error.code === 'KUBE_NOT_FOUND') return undefined;
      throw error;
    }
  }

  async list(kind: KubeKind, selection: KubeSelection = {}): Promise<readonly KubeObject[]> {
    return (await listAll(this.#transport, kind, selection, this.#options.listLimits)).objects;
  }

  async create(kind: KubeKind, object: KubeObject): Promise<KubeObject> {
    const answer = await this.#transport.send({ method: 'POST', path: collectionPath(kind, object.metadata.namespace), body: object });
    return asObject(answer.body, kind);
  }

  async apply(kind: KubeKind, object: KubeObject, fieldManager: string): Promise<KubeObject> {
    const path = `${objectPath(kind, object.metadata)}${queryText({ fieldManager, force: 'true' })}`;
    return asObject((await this.#transport.send({ method: 'PATCH', path, body: object, contentType: 'application/apply-patch+yaml' })).body, kind);
  }

  async replaceStatus(kind: KubeKind, object: KubeObject): Promise<KubeObject> {
    return asObject((await this.#transport.send({ method: 'PUT', path: objectPath(kind, object.metadata, 'status'), body: object })).body, kind);
  }

  async replace(kind: KubeKind, object: KubeObject): Promise<KubeObject> {
    return asObject((await this.#transport.send({ method: 'PUT', path: objectPath(kind, object.metadata), body: object })).body, kind);
  }

  async remove(kind: KubeKind, ref: KubeRef, preconditions?: KubePreconditions): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', ...(preconditions === undefined ? {} : { preconditions }) };
    try {
      await this.#transport.send({ method: 'DELETE', path: objectPath(kind, ref), body });
    } catch (error) {
      if (!isFleetError(error) || error.code !== 'KUBE_NOT_FOUND') throw error;
    }
  }

  watch(kind: KubeKind, selection: KubeSelection, handler: KubeWatchHandler): KubeWatch {
    const running = followKind({ transport: this.#transport, kind, selection, handler, clock: this.#options.clock, random: this.#options.random });
    const watch: KubeWatch = {
      stop: () => {
        this.#watches.delete(watch);
        running.stop();
      },
    };
    this.#watches.add(watch);
    return watch;
  }

  async serverInfo(): Promise<{ readonly version: string; readonly timeMs: number | undefined }> {
    const { body, headers } = await this.#transport.send({ method: 'GET', path: '/version' });
    const version = typeof body === 'object' && body !== null && 'gitVersion' in body ? body.gitVersion : undefined;
    if (typeof version !== 'string') throw new FleetError('KUBE_SERVER_ERROR', 'transient', `${this.#transport.server} does not say its version; is it an API server?`);
    const timeMs = Date.parse(headers.date ?? '');
    return { version: plainText(version, VERSION_LENGTH_MAX), timeMs: Number.isNaN(timeMs) ? undefined : timeMs };
  }

  async raw(path: string): Promise<unknown> {
    return (await this.#transport.send({ method: 'GET', path })).body;
  }

  /** Ends every watch and closes the connections. */
  close(): void {
    for (const watch of [...this.#watches]) watch.stop();
    this.#transport.close();
  }
}

function asObject(body: unknown, kind: KubeKind): KubeObject {
  if (typeof body === 'object' && body !== null && 'metadata' in body) return body as KubeObject;
  throw new FleetError('KUBE_SERVER_ERROR', 'transient', `The server answered a request for a ${kind.kind} with something else; is it an API server?`);
}
