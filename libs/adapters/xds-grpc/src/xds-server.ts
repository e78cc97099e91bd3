import { Server, status as GrpcStatus, type ServerDuplexStream } from '@grpc/grpc-js';
import type { Registry } from 'prom-client';

import { CLUSTER_TYPE_URL, decodeDeltaRequest, decodeSotwRequest, encodeCluster, encodeListener, encodeLoadAssignment, LISTENER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL, type DeltaRequest } from '#contracts/envoy';
import { FleetError, isFleetError } from '#domain/fleet';
import { parseFrontends, renderXdsListeners, type XdsSnapshot } from '#domain/xds-snapshot';
import type { Logger, PeerDoorLimits } from '#platform';
import type { Clock } from '#ports';

import type { AckStatus, XdsAcknowledgements, XdsStreamInfo } from './acknowledgements.js';
import { adsService, KEEPALIVE_OPTIONS } from './ads-service.js';
import { listenGuarded } from './guarded-listener.js';
import { RequestPace, type RequestPaceLimits } from './request-pace.js';
import { ResourceTable } from './resource-table.js';
import { shortText } from './short-text.js';
import { SotwStream } from './sotw-stream.js';
import { createXdsServerMetrics, type XdsServerMetrics } from './xds-metrics.js';
import { XdsStream, type RequestOutcome, type StreamLimits, type StreamSink } from './xds-stream.js';

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
export interface XdsServerLimits extends StreamLimits, PeerDoorLimits, RequestPaceLimits {
  readonly streamsMax: number;
  /** Streams of one caller, where it is known which node it speaks for; beyond it the oldest ends. */
  readonly streamsPerNodeMax: number;
  /** How long a stream lasts before its caller must prove again who it is; by up to a fifth shorter or longer. */
  readonly streamLifeMs: number;
}

/** Defaults of {@link XdsServerLimits}: a response fits gRPC's usual 4 MiB. */
const XDS_SERVER_LIMITS: XdsServerLimits = {
  connectionsMax: 6_000,
  connectionsPerSourceMax: 64,
  strangersPerSourceMax: 16,
  strangerMs: 20_000,
  streamsMax: 5_000,
  streamsPerNodeMax: 4,
  streamLifeMs: 60 * 60_000,
  namesMax: 50_000,
  responseBytesMax: 3 * 1024 * 1024,
  requestsPerSecond: 1_000,
  requestsAtOnce: 5_000,
};

/** Calls that one connection may have open. */
const STREAMS_PER_CONNECTION_MAX = 16;
/** Kubernetes' longest name, and room. */
const NODE_ID_LENGTH_MAX = 512;
/** How often one stream's refusals are logged. */
const NACK_LOG_MS = 1_000;

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

/**
 * Starts an ADS server: clusters and load assignments on delta streams, for our own clients and Envoy, and listeners too on
 * state-of-the-world streams, for gRPC clients. Throws FleetError XDS_TLS_REQUIRED or XDS_LISTEN_FAILED.
 */
export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  if (options.tls === undefined && !LOOPBACK_HOSTS.includes(options.host)) {
    throw new FleetError('XDS_TLS_REQUIRED', 'user', `xDS without TLS is served on loopback only, not on ${options.host}; give a certificate and key`);
  }
  const hub = new StreamHub(options);
  const server = new Server({ ...KEEPALIVE_OPTIONS, 'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX, 'grpc.max_receive_message_length': REQUEST_BYTES_MAX, 'grpc.max_send_message_length': -1 });
  server.addService(adsService, { deltaAggregatedResources: (call: Call) => hub.open(call, 'delta'), streamAggregatedResources: (call: Call) => hub.open(call, 'sotw') });
  const listener = await listenGuarded(server, { host: options.host, port: options.port, tls: options.tls, limits: hub.limits });
  hub.onAdmitted = (peer) => listener.door.admit(peer);
  listener.door.register(options.registry, 'spillway_xds');
  return {
    port: listener.port,
    acknowledgements: hub,
    setSnapshot: (snapshot) => hub.setSnapshot(snapshot),
    close: async () => {
      listener.stopListening();
      hub.closeAll();
      const ended = new AbortController();
      void options.clock.sleep(SHUTDOWN_MS, ended.signal).then(() => server.forceShutdown());
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      ended.abort();
      await listener.close();
    },
  };
}

type Call = ServerDuplexStream<Buffer, Buffer>;

/** How a stream speaks: differences, or the state of the world. */
type Variant = 'delta' | 'sotw';

interface OpenStream {
  readonly call: Call;
  readonly stream: XdsStream | SotwStream;
  readonly identity: string;
  readonly allowedNodeId: string | undefined;
  readonly peer: string;
  readonly openedAtMs: number;
  readonly pace: RequestPace;
  /** Aborted when the stream has ended. */
  readonly ended: AbortController;
  /** Monotonic time before which no further refusal is logged. */
  quietUntilMs: number;
  /** Empty until the first request told it (rule 6), and for gRPC clients: no node speaks that way. */
  nodeId: string;
}

/** All streams and the tables that they are served from. */
class StreamHub implements XdsAcknowledgements {
  readonly #options: XdsServerOptions;
  readonly limits: XdsServerLimits;
  /** Told the peer of each call that was authenticated. */
  onAdmitted: (peer: string) => void = () => undefined;
  readonly #metrics: XdsServerMetrics;
  readonly #tables = { listeners: new ResourceTable(), clusters: new ResourceTable(), loadAssignments: new ResourceTable(), isReady: false };
  #servedClusters: XdsSnapshot['clusters'] | undefined;
  readonly #open = new Set<OpenStream>();
  /** Calls from their first byte on, authenticated or not. */
  readonly #calls = new Set<Call>();
  readonly #listeners = new Set<(nodeId: string) => void>();
  #servedCount = 0;

  constructor(options: XdsServerOptions) {
    this.#options = options;
    this.limits = { ...XDS_SERVER_LIMITS, ...options.limits };
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
    // Listeners follow from clusters alone; endpoints and shares change much oftener.
    if (snapshot.clusters !== this.#servedClusters) this.#tables.listeners.replace(renderXdsListeners(parseFrontends(snapshot.clusters)), revision, encodeListener);
    this.#servedClusters = snapshot.clusters;
    this.#tables.isReady = true;
    for (const { stream } of this.#open) stream.flush();
  }

  streams(): readonly XdsStreamInfo[] {
    return [...this.#open].filter(({ nodeId }) => nodeId !== '').map(({ nodeId, identity, peer, openedAtMs }) => ({ nodeId, identity, peer, openedAtMs }));
  }

  status(nodeId: string, typeUrl: Parameters<XdsAcknowledgements['status']>[1], resourceName: string): AckStatus {
    const newest = [...this.#open].findLast((one) => one.nodeId === nodeId);
    return newest?.stream instanceof XdsStream ? newest.stream.status(typeUrl, resourceName) : { kind: 'unknown' };
  }

  onChange(listener: (nodeId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a new call: nothing of it is read before the caller is authenticated. */
  open(call: Call, variant: Variant): void {
    call.on('error', (error: Error) => this.#options.logger.debug({ peer: call.getPeer(), reason: error.message }, 'xds stream failed'));
    if (this.#calls.size >= this.limits.streamsMax) {
      this.#refuse(call, GrpcStatus.RESOURCE_EXHAUSTED, 'too-many-streams', `this server holds ${this.limits.streamsMax} streams already; try again later`);
      return;
    }
    this.#calls.add(call);
    for (const event of ['close', 'cancelled', 'end', 'error'] as const) call.once(event, () => this.#calls.delete(call));
    void this.#authenticate(call, variant);
  }

  closeAll(): void {
    for (const call of this.#calls) fail(call, GrpcStatus.UNAVAILABLE, 'the server is stopping; connect again');
  }

  async #authenticate(call: Call, variant: Variant): Promise<void> {
    const [authorization] = call.metadata.get('authorization').map(String);
    try {
      const result = await this.#options.authenticate({ authorization, peer: call.getPeer() });
      if (call.cancelled || !this.#calls.has(call)) return;
      if (result.ok) this.#serve(call, variant, result);
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

  #serve(call: Call, variant: Variant, { identity, nodeId: allowedNodeId }: { readonly identity: string; readonly nodeId?: string | undefined }): void {
    const sink: StreamSink = {
      write: (bytes: Uint8Array) => call.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
      onDrain: (callback: () => void) => void call.once('drain', callback),
      onTooFarBehind: () => this.#refuse(call, GrpcStatus.ABORTED, 'too-far-behind', 'this stream is too far behind; connect again with the versions you have'),
    };
    const { clock } = this.#options;
    const stream = variant === 'delta' ? new XdsStream(this.#tables, this.limits, sink) : new SotwStream(this.#tables, this.limits, sink);
    const open: OpenStream = { call, stream, identity, allowedNodeId, peer: call.getPeer(), openedAtMs: clock.nowMs(), pace: new RequestPace(this.limits, clock), ended: new AbortController(), quietUntilMs: 0, nodeId: '' };
    this.onAdmitted(open.peer);
    this.#endOldestOf(open);
    this.#open.add(open);
    void this.#endInTime(open);
    const closed = (): void => {
      open.ended.abort();
      if (this.#open.delete(open)) this.#notify(open.nodeId);
    };
    for (const event of ['close', 'cancelled', 'error'] as const) call.once(event, closed);
    call.on('data', (bytes: Buffer) => this.#receive(open, bytes));
    call.once('end', () => {
      closed();
      call.end();
    });
  }

  /** A caller that opens stream after stream takes no other's place. */
  #endOldestOf({ identity, allowedNodeId }: OpenStream): void {
    if (allowedNodeId === undefined) return;
    const same = [...this.#open].filter((one) => one.identity === identity && one.allowedNodeId === allowedNodeId);
    for (const { call } of same.slice(0, Math.max(0, same.length + 1 - this.limits.streamsPerNodeMax))) {
      this.#refuse(call, GrpcStatus.ABORTED, 'replaced', `${identity} of ${allowedNodeId} has newer streams`);
    }
  }

  // A token that expired or was withdrawn must not be good for ever; not all at once, or a thousand nodes would come back together.
  async #endInTime({ call, ended }: OpenStream): Promise<void> {
    this.#servedCount += 1;
    const spread = 0.8 + 0.4 * ((this.#servedCount * GOLDEN_RATIO) % 1);
    await this.#options.clock.sleep(this.limits.streamLifeMs * spread, ended.signal);
    if (!ended.signal.aborted) this.#refuse(call, GrpcStatus.UNAVAILABLE, 'expired', 'this stream is old; connect again with a fresh token');
  }

  #receive(open: OpenStream, bytes: Buffer): void {
    if (!this.#open.has(open)) return;
    try {
      if (open.stream instanceof SotwStream) {
        const request = decodeSotwRequest(bytes);
        this.#note(open, open.stream.receive(request), request);
        this.#keepPace(open, { names: request.names, all: 0 });
        return;
      }
      const request = decodeDeltaRequest(bytes);
      if (!this.#identify(open, request.nodeId)) return;
      this.#note(open, open.stream.receive(request), request);
      this.#notify(open.nodeId);
      this.#keepPace(open, { names: [...request.subscribe, ...request.unsubscribe], all: this.#tables.clusters.size });
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
    if (nodeId.length > NODE_ID_LENGTH_MAX) {
      this.#refuse(open.call, GrpcStatus.INVALID_ARGUMENT, 'invalid-request', `a node id has ${NODE_ID_LENGTH_MAX} characters at most`);
      return false;
    }
    open.nodeId = nodeId;
    return true;
  }

  /** A client that asks too fast is read no faster: it waits, nobody else does. */
  #keepPace({ call, pace, ended }: OpenStream, { names, all }: { readonly names: readonly string[]; readonly all: number }): void {
    const waitMs = pace.waitMs(names.length + (names.includes('*') ? all : 0));
    if (waitMs === 0) return;
    this.#metrics.pauses.inc();
    call.pause();
    void this.#options.clock.sleep(waitMs, ended.signal).then(() => call.resume());
  }

  #note(open: OpenStream, outcome: RequestOutcome, { typeUrl, errorMessage }: Pick<DeltaRequest, 'typeUrl' | 'errorMessage'>): void {
    const { logger, clock } = this.#options;
    const { nodeId, identity } = open;
    this.#metrics.requests.inc({ outcome });
    if (outcome === 'excess') this.#refuse(open.call, GrpcStatus.RESOURCE_EXHAUSTED, 'excess', 'this stream asks for too many or too long names, or does not answer responses');
    if (outcome === 'unknown-type') logger.debug({ nodeId, identity, typeUrl: shortText(typeUrl) }, 'xds client asked for a type that is not served');
    const nowMs = clock.monotonicMs();
    if (outcome !== 'nack' || nowMs < open.quietUntilMs) return;
    open.quietUntilMs = nowMs + NACK_LOG_MS;
    logger.warn({ nodeId, identity, type: TYPE_WORDS.get(typeUrl), reason: shortText(errorMessage ?? '') }, 'xds client rejected a response');
  }

  #notify(nodeId: string): void {
    if (nodeId === '') return;
    for (const listener of this.#listeners) listener(nodeId);
  }
}

/** Its multiples, modulo 1, are spread evenly however many there are. */
const GOLDEN_RATIO = 0.618_033_988_749_895;

const TYPE_WORDS: ReadonlyMap<string, string> = new Map([[CLUSTER_TYPE_URL, 'cluster'], [LOAD_ASSIGNMENT_TYPE_URL, 'load_assignment'], [LISTENER_TYPE_URL, 'listener']]);

function fail(call: Call, code: GrpcStatus, details: string): void {
  call.emit('error', { code, details });
}
