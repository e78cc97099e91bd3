import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';

/** An answer, whole. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** One POST. */
export interface HttpPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal | undefined;
}

/** Largest answer that is read: a full Sync of a large fleet. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Connections to one hub that trust exactly one CA bundle. Keeps a few alive: a report, a long poll, and one to spare. */
export function createTrustingAgent(caBundlePem: string): Agent {
  return new Agent({ ca: caBundlePem, keepAlive: true, maxSockets: 8, maxFreeSockets: 4, minVersion: 'TLSv1.2' });
}

/** Posts a body and reads the whole answer, within its limit. Rejects with the socket's own error. */
export function postOverHttps(agent: Agent, post: HttpPost): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(post.url, { method: 'POST', agent, headers: { ...post.headers, 'content-length': String(post.body.byteLength) }, ...(post.signal === undefined ? {} : { signal: post.signal }) });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      readWhole(response).then((body) => resolve({ status: response.statusCode ?? 0, headers: headersOf(response), body }), reject);
    });
    outgoing.end(post.body);
  });
}

async function readWhole(response: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > ANSWER_BYTES_MAX) {
      response.destroy();
      throw new Error(`the hub's answer is over ${ANSWER_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks, size));
}

function headersOf(response: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headersDistinct)) for (const one of value ?? []) headers.append(name, one);
  return headers;
}
