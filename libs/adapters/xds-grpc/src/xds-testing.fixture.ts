import { Client, credentials, Metadata, Server, ServerCredentials, status as GrpcStatus, type ClientDuplexStream, type ServerDuplexStream, type ServiceError } from '@grpc/grpc-js';
import { Registry } from 'prom-client';

import { CLUSTER_TYPE_URL, decodeDeltaRequest, decodeDeltaResponse, decodeResource, DELTA_ADS_PATH, encodeDeltaRequest, encodeDeltaResponse, LOAD_ASSIGNMENT_TYPE_URL, type DeltaRequest, type DeltaResponse, type XdsTypeUrl } from '#contracts/envoy';
import type { XdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, SystemClock } from '#platform';

import { adsService } from './ads-service.js';
import { startXdsServer, type XdsServer, type XdsServerOptions } from './xds-server.js';

/** The type URL of clusters, by its service's name. */
export const CDS = CLUSTER_TYPE_URL;
/** The type URL of endpoints, by its service's name. */
export const EDS = LOAD_ASSIGNMENT_TYPE_URL;

/** A response in short: what a test compares. */
export interface ShortResponse {
  readonly type: 'CDS' | 'EDS';
  readonly nonce: string;
  /** `name@version` of each resource. */
  readonly resources: readonly string[];
  readonly removed: readonly string[];
  readonly doesMoreFollow: boolean;
}

/** A client that says exactly what a test tells it to. */
export class RawClient {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #responses = new Inbox<ShortResponse>();
  /** Resolves when the stream ends. */
  readonly ended: Promise<{ readonly code: number; readonly details: string }>;

  constructor(port: number, authorization?: string) {
    const metadata = new Metadata();
    if (authorization !== undefined) metadata.set('authorization', authorization);
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    this.#call = this.#client.makeBidiStreamRequest(DELTA_ADS_PATH, (bytes: Buffer) => bytes, (bytes: Buffer) => bytes, metadata);
    this.#call.on('data', (bytes: Buffer) => this.#take(bytes));
    this.ended = new Promise((resolve) => {
      this.#call.on('error', (error: ServiceError) => resolve({ code: error.code, details: error.details }));
      this.#call.on('end', () => resolve({ code: 0, details: '' }));
    });
  }

  send(typeUrl: string, request: Partial<DeltaRequest> = {}): void {
    this.#call.write(Buffer.from(encodeDeltaRequest({ typeUrl, nodeId: '', subscribe: [], unsubscribe: [], initialResourceVersions: {}, responseNonce: '', errorMessage: undefined, ...request }, '')));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#call.write(Buffer.from(bytes));
  }

  /** The next response, now or when it comes. */
  async next(): Promise<ShortResponse> {
    return this.#responses.next();
  }

  /** Sends a subscription whose answer proves that nothing else was sent before it, and returns what came until then. */
  async drained(typeUrl: XdsTypeUrl): Promise<ShortResponse[]> {
    this.send(typeUrl, { subscribe: ['fence'] });
    const seen: ShortResponse[] = [];
    for (let response = await this.next(); !response.removed.includes('fence'); response = await this.next()) seen.push(response);
    return seen;
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }

  #take(bytes: Buffer): void {
    const { typeUrl, nonce, resources, removed, systemVersion } = decodeDeltaResponse(bytes);
    const short = resources.map(decodeResource).map(({ name, version }) => `${name}@${version}`);
    this.#responses.put({ type: typeUrl === CDS ? 'CDS' : 'EDS', nonce, resources: short, removed, doesMoreFollow: systemVersion.endsWith('+') });
  }
}

/** A snapshot from `name@version` texts: one EDS cluster each, whose load assignment may have another version. */
export function snapshotOfNames(clusters: readonly string[], assignments: readonly string[] = clusters): XdsSnapshot {
  const split = (text: string): { name: string; version: string } => ({ name: text.split('@')[0] ?? '', version: text.split('@')[1] ?? '' });
  return {
    clusters: clusters.map(split).map((resource) => ({ ...resource, edsServiceName: resource.name, metadata: { protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', frontends: [], gatewayPorts: [] } })),
    loadAssignments: assignments.map(split).map((resource) => ({ ...resource, localities: [] })),
  };
}

/** A server on loopback that lets everybody in. */
export const startTestServer = async (options: Partial<XdsServerOptions> = {}): Promise<XdsServer> =>
  startXdsServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    authenticate: async () => ({ ok: true, identity: 'test' }),
    clock: new SystemClock(),
    logger: createLogger({ app: 'test', level: 'silent' }),
    registry: new Registry(),
    ...options,
    // All of a test comes from one address.
    limits: { connectionsPerSourceMax: 10_000, strangersPerSourceMax: 10_000, ...options.limits },
  });

/** Resolves when the server has noted something of a node that makes the condition true. */
export async function until(server: XdsServer, isTrue: () => boolean): Promise<void> {
  if (isTrue()) return;
  await new Promise<void>((resolve) => {
    const stop = server.acknowledgements.onChange(() => {
      if (!isTrue()) return;
      stop();
      resolve();
    });
  });
}

/** Values that a test takes one by one, now or when they come. */
export class Inbox<T> {
  readonly #values: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  put(value: T): void {
    const waiter = this.#waiting.shift();
    if (waiter === undefined) this.#values.push(value);
    else waiter(value);
  }

  async next(): Promise<T> {
    const value = this.#values.shift();
    return value ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  get size(): number {
    return this.#values.length;
  }
}

/** A server that says exactly what a test tells it to, on the stream that was opened last. */
export class RawServer {
  readonly requests = new Inbox<DeltaRequest>();
  readonly authorizations: string[] = [];
  readonly #server = new Server();
  #call: ServerDuplexStream<Buffer, Buffer> | undefined;

  async listen(): Promise<number> {
    this.#server.addService(adsService, {
      deltaAggregatedResources: (call: ServerDuplexStream<Buffer, Buffer>) => {
        this.#call = call;
        this.authorizations.push(String(call.metadata.get('authorization')[0]));
        call.on('error', () => undefined);
        call.on('data', (bytes: Buffer) => this.requests.put(decodeDeltaRequest(bytes)));
      },
    });
    return new Promise((resolve, reject) => this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error === null ? resolve(port) : reject(error))));
  }

  send(response: Partial<DeltaResponse> & { readonly typeUrl: string; readonly nonce: string }): void {
    this.#call?.write(Buffer.from(encodeDeltaResponse({ systemVersion: '', resources: [], removed: [], ...response })));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#call?.write(Buffer.from(bytes));
  }

  /** Ends the present stream as a server does that goes away. */
  hangUp(): void {
    this.#call?.emit('error', { code: GrpcStatus.UNAVAILABLE, details: 'going away' });
  }

  close(): void {
    this.#server.forceShutdown();
  }
}
