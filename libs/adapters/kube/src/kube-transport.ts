import { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type AgentOptions } from 'node:https';
import type { LookupFunction } from 'node:net';

import { FleetError } from '#domain/fleet';
import type { Clock } from '#ports';

import type { KubeConnection } from './kube-connection.js';
import { networkError, statusError, type RequestName } from './kube-errors.js';

/** Largest answer that is read: a page of 500 objects is far below. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

/** Time that one request may take unless it says otherwise. */
export const REQUEST_DEADLINE_MS = 30_000;

/** Sockets to one API server; every watch holds one. */
const SOCKETS_MAX = 64;

/** One HTTP request to an API server. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly deadlineMs?: number | undefined;
}

/** A success answer. */
export interface TransportAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** Options of a transport. */
export interface TransportOptions {
  readonly clock: Clock;
  /** Refuses addresses that a host name may resolve to; literal addresses are checked by the kubeconfig rules. */
  readonly isAddressAllowed?: ((address: string) => boolean) | undefined;
  readonly deadlineMs?: number | undefined;
  /** Largest answer that is read; default is {@link RESPONSE_BYTES_MAX}. Small ones of hostile shape become 25 times as large in memory. */
  readonly answerBytesMax?: number | undefined;
  /** Time from now after which every request fails: what a visit to a server that answers ever so slowly may take in all. */
  readonly lifeMs?: number | undefined;
}

/**
 * HTTPS to one API server over node:https: 9 MB of memory where undici takes 28 and @kubernetes/client-node 80
 * (measured on Node 24). Redirects are never followed, so that credentials stay with the server they are for.
 */
export class KubeTransport {
  readonly server: string;
  readonly #agent: Agent;
  readonly #base: URL;
  readonly #deadlineMs: number;
  readonly #answerBytesMax: number;
  /** Monotonic time at which the transport's life is over. */
  readonly #endMs: number;
  readonly #connection: KubeConnection;
  readonly #clock: Clock;
  constructor(connection: KubeConnection, options: TransportOptions) {
    this.#connection = connection;
    this.#clock = options.clock;
    this.#base = new URL(connection.server);
    this.server = this.#base.origin;
    this.#deadlineMs = options.deadlineMs ?? REQUEST_DEADLINE_MS;
    this.#answerBytesMax = options.answerBytesMax ?? RESPONSE_BYTES_MAX;
    this.#endMs = options.clock.monotonicMs() + (options.lifeMs ?? Infinity);
    this.#agent = new Agent(agentOptions(connection, options));
  }

  /** Sends a request and reads the whole JSON answer. Throws FleetError. */
  async send(request: TransportRequest): Promise<TransportAnswer> {
    const name = this.#nameOf(request);
    const leftMs = this.#endMs - this.#clock.monotonicMs();
    if (leftMs <= 0) throw new FleetError('KUBE_TIMEOUT', 'transient', `${name.server} answers too slowly; the visit was broken off before ${name.method} ${name.path}.`);
    const signal = AbortSignal.timeout(Math.ceil(Math.min(request.deadlineMs ?? this.#deadlineMs, leftMs)));
    const response = await this.open(request, signal);
    const text = await readBody(response, this.#answerBytesMax).catch((error: unknown) => {
      throw networkError(signal.aborted ? signal.reason : error, name);
    });
    return { headers: response.headers, body: text === '' ? undefined : parseJson(text, name) };
  }

  /** Sends a request and returns the open success answer, for streams. A token that was refused is read again once. */
  async open(request: TransportRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const name = this.#nameOf(request);
    for (const renew of [false, true]) {
      const response = await this.#exchange(request, signal, renew);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return response;
      const body = await readBody(response, 1024 * 1024).catch(() => '');
      if (status === 401 && !renew && this.#connection.credential.kind === 'token') continue;
      throw this.#explain(statusError(status, body, name));
    }
    throw new FleetError('KUBE_UNAUTHORIZED', 'user', `${name.server} refused the token.`);
  }

  /** Closes idle connections; open ones end with their requests. */
  close(): void {
    this.#agent.destroy();
  }

  async #exchange(request: TransportRequest, signal: AbortSignal, renew: boolean): Promise<IncomingMessage> {
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'spillway' };
    const { credential } = this.#connection;
    if (credential.kind === 'token') headers['authorization'] = `Bearer ${(await credential.token.current(renew)).reveal()}`;
    const payload = request.body === undefined ? undefined : JSON.stringify(request.body);
    if (payload !== undefined) {
      headers['content-type'] = request.contentType ?? 'application/json';
      headers['content-length'] = String(Buffer.byteLength(payload));
    }
    const url = new URL(`${this.#base.pathname.replace(/\/$/, '')}${request.path}`, this.#base);
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(url, { method: request.method, headers, agent: this.#agent, signal }, resolve);
      outgoing.on('error', (error) => reject(networkError(signal.aborted ? signal.reason : error, this.#nameOf(request))));
      outgoing.end(payload);
    });
  }

  // The API server answers an expired client certificate with a bare 401; only we can see why.
  #explain(error: FleetError): FleetError {
    const { credential } = this.#connection;
    if (error.code !== 'KUBE_UNAUTHORIZED' || credential.kind !== 'client-certificate') return error;
    const expiry = certificateExpiryMs(credential.certificatePem);
    if (expiry === undefined || expiry > this.#clock.nowMs()) return error;
    return new FleetError('KUBE_CLIENT_CERT_EXPIRED', 'user', `The client certificate for ${this.server} expired at ${new Date(expiry).toISOString()}; register the cluster again with a new one.`, { cause: error });
  }

  #nameOf(request: TransportRequest): RequestName {
    return { method: request.method, path: request.path.split('?')[0] ?? request.path, server: this.server };
  }
}

function agentOptions(connection: KubeConnection, options: TransportOptions): AgentOptions {
  const { credential } = connection;
  return {
    keepAlive: true,
    keepAliveMsecs: 15_000,
    maxSockets: SOCKETS_MAX,
    minVersion: 'TLSv1.2',
    ...(connection.caPem === undefined ? {} : { ca: connection.caPem }),
    ...(connection.tlsServerName === undefined ? {} : { servername: connection.tlsServerName }),
    ...(credential.kind === 'client-certificate' ? { cert: credential.certificatePem, key: credential.key.reveal() } : {}),
    ...(options.isAddressAllowed === undefined ? {} : { lookup: guardedLookup(options.isAddressAllowed) }),
  };
}

// The check sits between resolution and connect, so that a name cannot resolve to one thing for the check and another for us.
function guardedLookup(isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const refused = addresses.find(({ address }) => !isAllowed(address));
      const first = addresses[0];
      if (refused !== undefined || first === undefined) {
        callback(new FleetError('KUBE_ADDRESS_REFUSED', 'user', `${hostname} resolves to ${refused?.address ?? 'nothing'}, where the hub does not call; use an address of the cluster itself.`), []);
      } else if (options.all === true) {
        callback(null, addresses);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

function certificateExpiryMs(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch {
    return undefined;
  }
}

async function readBody(response: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      response.destroy();
      throw new FleetError('KUBE_ANSWER_TOO_LARGE', 'user', `The server's answer is larger than ${bytesMax} bytes; is it an API server?`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string, name: RequestName): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FleetError('KUBE_SERVER_ERROR', 'transient', `${name.server} answered ${name.method} ${name.path} with something that is no JSON; is it an API server?`, { cause: error });
  }
}
