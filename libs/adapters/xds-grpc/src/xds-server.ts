import { Server, ServerCredentials, status as GrpcStatus, type ServerDuplexStream } from '@grpc/grpc-js';
import type { Registry } from 'prom-client';

import { CLUSTER_TYPE_URL, decodeDeltaRequest, encodeCluster, encodeLoadAssignment, type DeltaRequest } from '#contracts/envoy';
import { FleetError, isFleetError } from '#domain/fleet';
import type { XdsSnapshot } from '#domain/xds-snapshot';
import type { Logger } from '#platform';
import type { Clock } from '#ports';

import type { AckStatus, XdsAcknowledgements, XdsStreamInfo } from './acknowledgements.js';
import { deltaAdsService, KEEPALIVE_OPTIONS } from './delta-ads-service.js';
import { ResourceTable } from './resource-table.js';
import { createXdsServerMetrics, type XdsServerMetrics } from './xds-metrics.js';
import { XdsStream, type StreamLimits } from './xds-stream.js';

/** Who opens a stream, before anybody checked it. */
export interface XdsCaller {
  /** The `authorization` header. */
  readonly authorization: string | undefined;
  /** Address and port of the connection. */
  readonly peer: string;
}

/** Whether a caller may have a stream. `nodeId`, where given, is the only node id that it may speak for. */
export type XdsAuthentication = { readonly ok: true; readonly identity: string; readonly nodeId?: string | undefined } | { readonly ok: false; readonly message: string };

/** Bounds of the server; each has a default. */
export interface XdsServerLimits extends StreamLimits {
  readonly streamsMax: number;
}

/** Defaults of {@link XdsServerLimits}: a response fits gRPC's usual 4 MiB. */
const XDS_SERVER_LIMITS: XdsServerLimits = { streamsMax: 5_000, namesMax: 50_000, responseBytesMax: 3 * 1024 * 1024 };

const REQUEST_BYTES_MAX = 16 * 1024 * 1024;
/** How long peers have to close their connections when the server stops. */
const SHUTDOWN_MS = 2_000;
const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** How to start a server. */
export interface XdsServerOptions {
  readonly host: string;
  /** 0 lets the kernel choose. */
  readonly port: number;
  /** Serving certificate and key as PEM. Without them the host must be loopback. */
  readonly tls: { readonly certPem: string; readonly keyPem: string } | undefined;
  /** A rejected promise means that nobody can tell now: the client is sent away to try again. */
  readonly authenticate: (caller: XdsCaller) => Promise<XdsAuthentication>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly limits?: Partial<XdsServerLimits>;
}

/** A running xDS server. It answers nothing before the first snapshot was set (R59). */
export interface XdsServer {
  readonly port: number;
  readonly acknowledgements: XdsAcknowledgements;
  /** Serves this snapshot from now on. Only resources whose version changed are encoded and sent. */
  setSnapshot(snapshot: XdsSnapshot): void;
  close(): Promise<void>;
}

/** Starts a delta ADS server for clusters and load assignments. Throws FleetError XDS_TLS_REQUIRED or XDS_LISTEN_FAILED. */
export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  if (options.tls === undefined && !LOOPBACK_HOSTS.includes(options.host)) {
    throw new FleetError('XDS_TLS_REQUIRED', 'user', `xDS without TLS is served on loopback only, not on ${options.host}; give a certificate and key`);
  }
  const hub = new StreamHub(options);
  const server = new Server({ ...KEEPALIVE_OPTIONS, 'grpc.max_receive_message_length': REQUEST_BYTES_MAX, 'grpc.max_send_message_length': -1 });
  server.addService(deltaAdsService, { deltaAggregatedResources: (call: Call) => hub.open(call) });
  const port = await bind(server, options);
  return {
    port,
    acknowledgements: hub,
    setSnapshot: (snapshot) => hub.setSnapshot(snapshot),
    close: async () => {
      hub.closeAll();
      const ended = new AbortController();
      void options.clock.sleep(SHUTDOWN_MS, ended.signal).then(() => server.forceShutdown());
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      ended.abort();
    },
  };
}

async function bind(server: Server, { host, port, tls }: XdsServerOptions): Promise<number> {
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(tls.certPem), private_key: Buffer.from(tls.keyPem) }]);
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else reject(new FleetError('XDS_LISTEN_FAILED', 'user', `cannot serve xDS on ${host} port ${port}: ${error.message}`, { cause: error }));
    });
  });
}

type Call = ServerDuplexStream<Buffer, Buffer>;

interface OpenStream {
  readonly call: Call;
  readonly stream: XdsStream;
  readonly identity: string;
  readonly allowedNodeId: string | undefined;
  readonly peer: string;
  readonly openedAtMs: number;
  /** Empty until the first request told it (rule 6). */
  nodeId: string;
}

/** All streams and the tables that they are served from. */
class StreamHub implements XdsAcknowledgements {
  readonly #options: XdsServerOptions;
  readonly #limits: XdsServerLimits;
  readonly #metrics: XdsServerMetrics;
  readonly #tables = { clusters: new ResourceTable(), loadAssignments: new ResourceTable(), isReady: false };
  readonly #open = new Set<OpenStream>();
  /** Calls from their first byte on, authenticated or not. */
  readonly #calls = new Set<Call>();
  readonly #listeners = new Set<(nodeId: string) => void>();

  constructor(options: XdsServerOptions) {
    this.#options = options;
    this.#limits = { ...XDS_SERVER_LIMITS, ...options.limits };
    this.#metrics = createXdsServerMetrics(options.registry, {
      streamCount: () => this.#open.size,
      awaitingCount: () => [...this.#open].filter(({ stream }) => stream.isAwaitingAnswer).length,
      resourceCount: (type) => (type === 'cluster' ? this.#tables.clusters : this.#tables.loadAssignments).size,
    });
  }

  setSnapshot(snapshot: XdsSnapshot): void {
    const revision = this.#tables.clusters.revision + 1;
    this.#tables.clusters.replace(snapshot.clusters, revision, encodeCluster);
    this.#tables.loadAssignments.replace(snapshot.loadAssignments, revision, encodeLoadAssignment);
    this.#tables.isReady = true;
    for (const { stream } of this.#open) stream.flush();
  }

  streams(): readonly XdsStreamInfo[] {
    return [...this.#open].filter(({ nodeId }) => nodeId !== '').map(({ nodeId, identity, peer, openedAtMs }) => ({ nodeId, identity, peer, openedAtMs }));
  }

  status(nodeId: string, typeUrl: Parameters<XdsAcknowledgements['status']>[1], resourceName: string): AckStatus {
    const newest = [...this.#open].findLast((one) => one.nodeId === nodeId);
    return newest?.stream.status(typeUrl, resourceName) ?? { kind: 'unknown' };
  }

  onChange(listener: (nodeId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a new call: nothing of it is read before the caller is authenticated. */
  open(call: Call): void {
    call.on('error', (error: Error) => this.#options.logger.debug({ peer: call.getPeer(), reason: error.message }, 'xds stream failed'));
    if (this.#calls.size >= this.#limits.streamsMax) {
      this.#refuse(call, GrpcStatus.RESOURCE_EXHAUSTED, 'too-many-streams', `this server holds ${this.#limits.streamsMax} streams already; try again later`);
      return;
    }
    this.#calls.add(call);
    for (const event of ['close', 'cancelled', 'end', 'error'] as const) call.once(event, () => this.#calls.delete(call));
    void this.#authenticate(call);
  }

  closeAll(): void {
    for (const call of this.#calls) fail(call, GrpcStatus.UNAVAILABLE, 'the server is stopping; connect again');
  }

  async #authenticate(call: Call): Promise<void> {
    const [authorization] = call.metadata.get('authorization').map(String);
    try {
      const result = await this.#options.authenticate({ authorization, peer: call.getPeer() });
      if (call.cancelled || !this.#calls.has(call)) return;
      if (result.ok) this.#serve(call, result.identity, result.nodeId);
      else this.#refuse(call, GrpcStatus.UNAUTHENTICATED, 'unauthenticated', result.message);
    } catch (error) {
      this.#refuse(call, GrpcStatus.UNAVAILABLE, 'authentication-unavailable', 'who you are cannot be checked now; try again later');
      this.#options.logger.warn({ peer: call.getPeer(), err: error }, 'could not authenticate an xds client');
    }
  }

  #refuse(call: Call, code: GrpcStatus, reason: string, message: string): void {
    this.#metrics.refusedStreams.inc({ reason });
    fail(call, code, message);
  }

  #serve(call: Call, identity: string, allowedNodeId: string | undefined): void {
    const sink = {
      write: (bytes: Uint8Array) => call.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
      onDrain: (callback: () => void) => void call.once('drain', callback),
      onTooFarBehind: () => this.#refuse(call, GrpcStatus.ABORTED, 'too-far-behind', 'this stream is too far behind; connect again with the versions you have'),
    };
    const open: OpenStream = { call, stream: new XdsStream(this.#tables, this.#limits, sink), identity, allowedNodeId, peer: call.getPeer(), openedAtMs: this.#options.clock.nowMs(), nodeId: '' };
    this.#open.add(open);
    const closed = (): void => {
      if (this.#open.delete(open)) this.#notify(open.nodeId);
    };
    for (const event of ['close', 'cancelled', 'error'] as const) call.once(event, closed);
    call.on('data', (bytes: Buffer) => this.#receive(open, bytes));
    call.once('end', () => {
      closed();
      call.end();
    });
  }

  #receive(open: OpenStream, bytes: Buffer): void {
    if (!this.#open.has(open)) return;
    try {
      const request = decodeDeltaRequest(bytes);
      if (!this.#identify(open, request.nodeId)) return;
      this.#take(open, request);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      this.#refuse(open.call, GrpcStatus.INVALID_ARGUMENT, 'invalid-request', error.message);
    }
  }

  #identify(open: OpenStream, nodeId: string): boolean {
    if (open.nodeId !== '' || nodeId === '') return true;
    if (open.allowedNodeId !== undefined && open.allowedNodeId !== nodeId) {
      this.#refuse(open.call, GrpcStatus.PERMISSION_DENIED, 'foreign-node', `${open.identity} may not speak for node ${nodeId}`);
      return false;
    }
    open.nodeId = nodeId;
    return true;
  }

  #take(open: OpenStream, request: DeltaRequest): void {
    const outcome = open.stream.receive(request);
    this.#metrics.requests.inc({ outcome });
    if (outcome === 'excess') this.#refuse(open.call, GrpcStatus.RESOURCE_EXHAUSTED, 'excess', 'this stream asks for too many names, or does not answer responses');
    if (outcome === 'unknown-type') this.#options.logger.debug({ nodeId: open.nodeId, typeUrl: request.typeUrl }, 'xds client asked for a type that is not served');
    if (outcome === 'nack') {
      const type = request.typeUrl === CLUSTER_TYPE_URL ? 'cluster' : 'load_assignment';
      this.#options.logger.warn({ nodeId: open.nodeId, type, reason: request.errorMessage }, 'xds client rejected a response');
    }
    this.#notify(open.nodeId);
  }

  #notify(nodeId: string): void {
    if (nodeId === '') return;
    for (const listener of this.#listeners) listener(nodeId);
  }
}

function fail(call: Call, code: GrpcStatus, details: string): void {
  call.emit('error', { code, details });
}
