import { Client, credentials, Metadata, type ChannelOptions, type ClientDuplexStream } from '@grpc/grpc-js';

import { CLUSTER_TYPE_URL, decodeDeltaResponse, encodeDeltaRequest, LOAD_ASSIGNMENT_TYPE_URL, type DeltaRequest, type DeltaResponse, type XdsTypeUrl } from '#contracts/envoy';
import { isFleetError } from '#domain/fleet';
import type { XdsCluster } from '#domain/xds-snapshot';
import type { Logger } from '#platform';

import type { ClientApplier } from './client-applier.js';
import type { XdsClientLimits } from './client-limits.js';
import { asking, isComplete, receiveResponse, versionsOf, wantedLoadAssignments, withoutUnwanted, type ClientState } from './client-state.js';
import { adsService, KEEPALIVE_OPTIONS, MORE_FOLLOWS } from './ads-service.js';
import { shortText } from './short-text.js';

/** What one connection needs. */
export interface ClientSessionOptions {
  readonly target: string;
  readonly tls: { readonly readCaPem: () => Promise<string>; readonly serverName: string } | undefined;
  readonly readToken: (() => Promise<string>) | undefined;
  readonly nodeId: string;
  readonly typeUrls: readonly XdsTypeUrl[];
  readonly wantsLoadAssignment?: (cluster: XdsCluster) => boolean;
  readonly onCurrent?: (isCurrent: boolean) => void;
  readonly applier: ClientApplier;
  readonly logger: Logger;
  readonly limits: XdsClientLimits;
  readonly stopped: AbortSignal;
  /** Called once, when the server has answered. */
  readonly onConnected: () => void;
  readonly version?: string;
}

/**
 * Longest time to connect. A Service's address may lead to a pod that has just gone without a word: TCP would go on asking
 * that pod for two minutes, since connection tracking keeps where the first packet went; a new connection is led elsewhere.
 */
const CONNECT_MS_MAX = 5_000;

type Call = ClientDuplexStream<Buffer, Buffer>;

/** Follows a server over one connection until it ends; resolves with the reason. */
export async function runClientSession(options: ClientSessionOptions): Promise<string> {
  const opened = await open(options).catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  if (typeof opened === 'string') return opened;
  const { client, call } = opened;
  const cancel = (): void => call.cancel();
  let patience: NodeJS.Timeout | undefined;
  let session: ClientSession | undefined;
  options.stopped.addEventListener('abort', cancel);
  try {
    return await new Promise<string>((resolve) => {
      const following = new ClientSession(options, call, resolve);
      session = following;
      client.waitForReady(Date.now() + CONNECT_MS_MAX, (error) => {
        if (error !== undefined) resolve(`no connection within ${CONNECT_MS_MAX / 1000} s`);
      });
      patience = setTimeout(() => {
        if (!following.isConnected) resolve(`no answer within ${options.limits.answerMs / 1000} s`);
      }, options.limits.answerMs);
      call.on('data', (bytes: Buffer) => following.receive(bytes));
      call.on('error', (error: Error) => resolve(error.message));
      call.on('end', () => resolve('the server ended the stream'));
      following.start();
      if (options.stopped.aborted) cancel();
    });
  } finally {
    session?.end();
    clearTimeout(patience);
    options.stopped.removeEventListener('abort', cancel);
    call.cancel();
    client.close();
  }
}

async function open({ target, tls, readToken, limits }: ClientSessionOptions): Promise<{ readonly client: Client; readonly call: Call }> {
  const metadata = new Metadata();
  if (readToken !== undefined) metadata.set('authorization', `Bearer ${await readToken()}`);
  const security = tls === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(await tls.readCaPem()));
  const naming: ChannelOptions = tls === undefined ? {} : { 'grpc.ssl_target_name_override': tls.serverName, 'grpc.default_authority': tls.serverName };
  const client = new Client(target, security, { ...KEEPALIVE_OPTIONS, ...naming, 'grpc.use_local_subchannel_pool': 1, 'grpc.max_receive_message_length': limits.responseBytesMax });
  const { path, requestSerialize, responseDeserialize } = adsService.deltaAggregatedResources;
  return { client, call: client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata) };
}

/** A response that was taken in and not answered yet. */
interface Received {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly names: readonly string[];
}

class ClientSession {
  readonly #options: ClientSessionOptions;
  readonly #call: Call;
  readonly #onBroken: (reason: string) => void;
  #state: ClientState;
  #wanted: ReadonlySet<string>;
  /** Load assignments that this stream asked for. */
  readonly #subscribed = new Set<string>();
  #received: Received[] = [];
  readonly #rejectedNames = new Map<string, Set<string>>();
  #isFirstRequest = true;
  #isConnected = false;
  /** Whether every response of this stream could be read. */
  #isReadable = true;
  /** Whether the server has yet to say what changed of the load assignments that the client had. */
  #isResumptionOwed = false;
  #isEnded = false;
  #gatheredBytes = 0;
  #refusalsInARow = 0;
  #unansweredCount = 0;

  constructor(options: ClientSessionOptions, call: Call, onBroken: (reason: string) => void) {
    this.#options = options;
    this.#call = call;
    this.#onBroken = onBroken;
    // Only what was applied counts as had: the server sends the rest again (rule 4).
    this.#state = options.applier.accepted;
    this.#wanted = this.#followsLoadAssignments ? this.#wantedNow() : new Set();
  }

  get #followsLoadAssignments(): boolean {
    return this.#options.typeUrls.includes(LOAD_ASSIGNMENT_TYPE_URL);
  }

  /** Whether the server has answered. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  start(): void {
    this.#options.applier.onRecovered(() => this.#askAgainForRejected());
    this.#send({ typeUrl: CLUSTER_TYPE_URL, subscribe: ['*'], initialResourceVersions: versionsOf(this.#state.clusters) });
    // An empty first list would mean all load assignments there are (rule 5).
    this.#isResumptionOwed = this.#wanted.size > 0;
    if (this.#isResumptionOwed) this.#subscribeWanted(versionsOf(this.#state.loadAssignments));
  }

  end(): void {
    this.#isEnded = true;
  }

  receive(bytes: Buffer): void {
    if (this.#isEnded) return;
    this.#gatheredBytes += bytes.length;
    if (this.#gatheredBytes > this.#options.limits.gatheredBytesMax) {
      this.#break(`the server sent ${this.#gatheredBytes} bytes that make no whole set`);
      return;
    }
    try {
      const response = decodeDeltaResponse(bytes);
      if (!this.#isConnected) this.#options.onConnected();
      this.#isConnected = true;
      this.#take(response);
    } catch (error) {
      this.#break(`the server sent something unreadable: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #break(reason: string): void {
    this.#isEnded = true;
    this.#onBroken(shortText(reason));
  }

  #take(response: DeltaResponse): void {
    if (this.#takeIn(response) && this.#followsLoadAssignments) this.#followClusters();
    const isWhole = !response.systemVersion.endsWith(MORE_FOLLOWS) && isComplete(this.#state, this.#wanted);
    if (isWhole && this.#received.length > 0) this.#offer();
  }

  /** Takes a response into the state, or rejects it at once. Returns whether clusters changed. */
  #takeIn(response: DeltaResponse): boolean {
    const before = this.#state;
    try {
      this.#state = receiveResponse(before, response, this.#options.limits.clustersMax);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      this.#refuse(response, error.message);
      this.#isReadable = false;
      this.#setCurrent(false);
      return false;
    }
    if (response.typeUrl === LOAD_ASSIGNMENT_TYPE_URL) this.#isResumptionOwed = false;
    this.#refusalsInARow = 0;
    this.#unansweredCount += 1;
    if (this.#unansweredCount > this.#options.limits.unansweredMax) this.#break(`the server sent ${this.#unansweredCount} responses without waiting for an answer`);
    this.#received.push({ typeUrl: response.typeUrl, nonce: response.nonce, names: [...response.removed, ...changedNames(this.#state, before)] });
    return this.#state.clusters !== before.clusters;
  }

  #wantedNow(): ReadonlySet<string> {
    return wantedLoadAssignments(this.#state, this.#options.wantsLoadAssignment);
  }

  #refuse({ typeUrl, nonce }: DeltaResponse, reason: string): void {
    this.#options.logger.warn({ typeUrl: shortText(typeUrl), reason: shortText(reason) }, 'rejected a response of the xds server');
    this.#send({ typeUrl, responseNonce: nonce, errorMessage: shortText(reason) });
    this.#refusalsInARow += 1;
    if (this.#refusalsInARow >= this.#options.limits.refusalsMax) this.#break(`the server sent ${this.#refusalsInARow} responses in a row that cannot be used`);
  }

  #followClusters(): void {
    this.#wanted = this.#wantedNow();
    this.#subscribeWanted({});
  }

  #offer(): void {
    const received = this.#received;
    this.#received = [];
    this.#gatheredBytes = 0;
    this.#state = withoutUnwanted(this.#state, this.#wanted);
    this.#options.applier.offer({ state: this.#state, answer: (rejection) => this.#answer(received, rejection) });
  }

  #setCurrent(isCurrent: boolean): void {
    if (!this.#isEnded) this.#options.onCurrent?.(isCurrent);
  }

  #answer(received: readonly Received[], rejection: string | undefined): void {
    this.#setCurrent(rejection === undefined && this.#isReadable && !this.#isResumptionOwed);
    this.#unansweredCount -= received.length;
    for (const { typeUrl, nonce, names } of received) {
      this.#send({ typeUrl, responseNonce: nonce, errorMessage: rejection === undefined ? undefined : shortText(rejection) });
      const rejected = this.#rejectedNames.get(typeUrl) ?? new Set();
      for (const name of names) rejected[rejection === undefined ? 'delete' : 'add'](name);
      this.#rejectedNames.set(typeUrl, rejected);
    }
  }

  /** What was rejected could be applied later: asked for again, the server answers (rule 3), and that can be acknowledged. */
  #askAgainForRejected(): void {
    for (const [typeUrl, rejected] of this.#rejectedNames) {
      const names = [...rejected].filter((name) => typeUrl === CLUSTER_TYPE_URL || this.#subscribed.has(name));
      if (names.length > 0) this.#send({ typeUrl, subscribe: names });
    }
    this.#rejectedNames.clear();
  }

  #subscribeWanted(initialResourceVersions: Record<string, string>): void {
    const subscribe = [...this.#wanted].filter((name) => !this.#subscribed.has(name));
    const unsubscribe = [...this.#subscribed].filter((name) => !this.#wanted.has(name));
    for (const name of subscribe) this.#subscribed.add(name);
    for (const name of unsubscribe) this.#subscribed.delete(name);
    this.#state = asking(this.#state, subscribe);
    if (subscribe.length + unsubscribe.length > 0) this.#send({ typeUrl: LOAD_ASSIGNMENT_TYPE_URL, subscribe, unsubscribe, initialResourceVersions });
  }

  #send(request: Partial<DeltaRequest> & { readonly typeUrl: string }): void {
    if (this.#isEnded) return;
    // The node says who it is on the first request only (rule 6).
    const nodeId = this.#isFirstRequest ? this.#options.nodeId : '';
    this.#isFirstRequest = false;
    const whole: DeltaRequest = { nodeId, subscribe: [], unsubscribe: [], initialResourceVersions: {}, responseNonce: '', errorMessage: undefined, ...request };
    this.#call.write(Buffer.from(encodeDeltaRequest(whole, this.#options.version ?? '')));
    if (this.#call.writableLength > this.#options.limits.unreadBytesMax) this.#break(`the server does not read: ${this.#call.writableLength} bytes wait`);
  }
}

/** Names of resources that the one state has and the other has not, or has otherwise. */
function changedNames(after: ClientState, before: ClientState): string[] {
  const changed = (fresh: ReadonlyMap<string, unknown>, old: ReadonlyMap<string, unknown>): string[] => (fresh === old ? [] : [...fresh.keys()].filter((name) => fresh.get(name) !== old.get(name)));
  return [...changed(after.clusters, before.clusters), ...changed(after.loadAssignments, before.loadAssignments)];
}
