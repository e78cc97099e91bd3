import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { createContextValues } from '@connectrpc/connect';
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';

import { ERROR_CODE_HEADER, HUB_TIME_HEADER, SPOKE_API_LIMITS } from '#contracts/spoke-api';
import { peerKeyOf, type Logger, type PeerDoor } from '#platform';
import type { Clock } from '#ports';

import { readBody } from './read-body.js';
import type { SpokeApiMetrics } from './spoke-api-metrics.js';
import { toSpokeApiError } from './spoke-api-errors.js';
import { type Admission, ADMISSION } from './spoke-router.js';

type NodeRequest = IncomingMessage | Http2ServerRequest;
type NodeResponse = ServerResponse | Http2ServerResponse;

/** Limits of the listener itself. */
export interface ListenerLimits {
  readonly bodyTimeoutMs: number;
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly streamsPerConnectionMax: number;
}

/** What the listener serves. */
export interface MachineListenerParts {
  readonly handlers: ReadonlyMap<string, UniversalHandler>;
  /** Judges a call by its path, its authorization header and its body bytes, before the message is read. */
  readonly admit: (path: string, authorization: string | undefined, body: Uint8Array) => Promise<Admission>;
  readonly certificate: { readonly chainPem: string; readonly privateKeyPem: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SpokeApiMetrics;
  readonly limits: ListenerLimits;
  readonly door: PeerDoor;
}

/** A TLS listener that speaks HTTP/2 and HTTP/1.1. */
export class MachineListener {
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #parts: MachineListenerParts;
  #isClosing = false;

  constructor(parts: MachineListenerParts) {
    this.#parts = parts;
    const { limits, certificate } = parts;
    const server = createSecureServer(
      {
        allowHTTP1: true,
        cert: certificate.chainPem,
        key: certificate.privateKeyPem,
        minVersion: 'TLSv1.2',
        handshakeTimeout: limits.headersTimeoutMs,
        settings: { maxHeaderListSize: limits.headerBytesMax, maxConcurrentStreams: limits.streamsPerConnectionMax },
      },
      (request, response) => void this.#serve(request, response),
    );
    // Of the HTTP/1.1 side of the server, which its type leaves out.
    Object.assign(server, { maxHeaderSize: limits.headerBytesMax });
    server.on('session', (session) => this.#keepSession(session));
    server.on('connection', (socket: Socket) => parts.door.letIn(socket));
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol !== 'h2') socket.setTimeout(limits.idleTimeoutMs, () => socket.destroy());
    });
    server.on('tlsClientError', (error) => parts.logger.debug({ err: error }, 'a TLS handshake failed'));
    server.on('error', (error) => parts.logger.error({ err: error }, 'the machine listener failed'));
    this.#server = server;
  }

  #keepSession(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.setTimeout(this.#parts.limits.idleTimeoutMs, () => session.close());
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', () => undefined);
  }

  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /** Serves new connections with another certificate. */
  replaceCertificate(certificate: MachineListenerParts['certificate']): void {
    this.#server.setSecureContext({ cert: certificate.chainPem, key: certificate.privateKeyPem, minVersion: 'TLSv1.2' });
  }

  /** Takes no new connection, lets running calls end, then closes what is left. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    const impatience = setTimeout(() => this.#parts.door.closeAll(), graceMs);
    await closed;
    clearTimeout(impatience);
  }

  async #serve(request: NodeRequest, response: NodeResponse): Promise<void> {
    const { clock, logger, metrics, handlers } = this.#parts;
    const startMs = clock.monotonicMs();
    const path = (request.url ?? '').split('?')[0] ?? '';
    const handler = handlers.get(path);
    const method = handler?.method.name ?? 'none';
    let outcome = 'broken';
    response.once('close', () => metrics.finished(method, response.writableFinished ? outcome : 'broken', (clock.monotonicMs() - startMs) / 1_000));
    try {
      const answer = handler === undefined ? NOT_FOUND : await this.#call(handler, path, request, response);
      outcome = describeOutcome(answer);
      response.setHeader(HUB_TIME_HEADER, String(clock.nowMs()));
      // Kept alive, an idle connection would hold up the stop, and the rest of a refused body the socket.
      if (!('stream' in response) && (this.#isClosing || !request.complete)) response.setHeader('connection', 'close');
      await universalResponseToNodeResponse(answer, response);
    } catch (error) {
      // The caller went away while its answer was written, or something of ours broke.
      logger.debug({ err: error, method }, 'a call could not be answered');
      if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      else response.destroy();
    }
  }

  async #call(handler: UniversalHandler, path: string, request: NodeRequest, response: NodeResponse): Promise<UniversalServerResponse> {
    const { limits, admit, door } = this.#parts;
    // Read while the connection is there for certain.
    const peer = peerKeyOf(request.socket);
    let body: Uint8Array = new Uint8Array();
    let admission: Admission;
    try {
      body = await readBody(request, { bytesMax: handler.method.name === 'Report' ? SPOKE_API_LIMITS.reportBytesMax : SPOKE_API_LIMITS.otherBytesMax, timeoutMs: limits.bodyTimeoutMs });
      admission = await admit(path, request.headers.authorization, body);
      // Anybody may call Enrol: that proves nothing.
      if (admission.kind === 'caller') door.admit(peer);
    } catch (error) {
      const { shown, isOurFault } = toSpokeApiError(error);
      if (isOurFault) this.#parts.logger.error({ err: error }, 'a caller could not be judged');
      admission = { kind: 'refused', error: shown };
    }
    const contextValues = createContextValues().set(ADMISSION, admission);
    const universal = universalRequestFromNodeRequest(request, response, undefined, contextValues);
    return handler({ ...universal, body: once(body) });
  }
}

const NOT_FOUND: UniversalServerResponse = { status: 404, header: new Headers({ [ERROR_CODE_HEADER]: 'MALFORMED_REQUEST' }) };

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** `ok`, or the error's code; what Connect itself refused carries none until now, and is malformed. */
function describeOutcome(answer: UniversalServerResponse): string {
  const code = answer.header?.get(ERROR_CODE_HEADER) ?? answer.trailer?.get(ERROR_CODE_HEADER);
  if (code !== null && code !== undefined) return code;
  if (answer.status < 400) return 'ok';
  answer.header?.set(ERROR_CODE_HEADER, 'MALFORMED_REQUEST');
  return 'MALFORMED_REQUEST';
}
