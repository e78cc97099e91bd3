import { createHash, createPrivateKey, randomUUID, type KeyObject } from 'node:crypto';
import type { Agent } from 'node:https';

import { SignJWT } from 'jose';

import { ERROR_CODE_HEADER, HUB_TIME_HEADER } from '#contracts/spoke-api';
import type { Clock, SpokeIdentity } from '#ports';

import { postOverHttps, type HttpAnswer } from './https-post.js';

/** What the hub's clock said last, shared by all calls of a link. */
export interface HubOffset {
  offsetMs: number | undefined;
}

/** How long a call's own token is good: enough for a slow request, far below the hub's limit. */
const TOKEN_LIFE_SECONDS = 30;

/** What a fetch of {@link createSignedFetch} needs. */
export interface SignedFetchOptions {
  readonly agent: Agent;
  readonly clock: Clock;
  readonly offset: HubOffset;
  /** Signs every call; undefined for Enrol, which proves itself by its token. */
  readonly identity: SpokeIdentity | undefined;
}

/**
 * A fetch that signs each request over the bytes of its body (RFC 7523), learns the hub's clock from every answer, and tries
 * once more with the learnt offset where the hub says that the token was outside its time.
 */
export function createSignedFetch(options: SignedFetchOptions): typeof globalThis.fetch {
  const key = options.identity === undefined ? undefined : createPrivateKey(options.identity.privateKeyPem);
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const body = toBytes(init?.body);
    const headers = Object.fromEntries(new Headers(init?.headers));
    const send = async (): Promise<HttpAnswer> => {
      const authorization = options.identity === undefined || key === undefined ? {} : { authorization: `Bearer ${await signCall(options, options.identity, key, body)}` };
      const answer = await postOverHttps(options.agent, { url, headers: { ...headers, ...authorization }, body, signal: init?.signal ?? undefined });
      learnOffset(options, answer);
      return answer;
    };
    const first = await send();
    const answer = first.headers.get(ERROR_CODE_HEADER) === 'AUTH_TIME' ? await send() : first;
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };
}

function toBytes(body: RequestInit['body']): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array();
}

async function signCall({ clock, offset }: SignedFetchOptions, identity: SpokeIdentity, key: KeyObject, body: Uint8Array): Promise<string> {
  const nowSeconds = Math.floor((clock.nowMs() + (offset.offsetMs ?? 0)) / 1000);
  return new SignJWT({ bsha: createHash('sha256').update(body).digest('base64url') })
    .setProtectedHeader({ alg: 'EdDSA', kid: identity.keyId })
    .setIssuer(identity.clusterId)
    .setSubject(identity.clusterId)
    .setAudience(identity.audience)
    .setIssuedAt(nowSeconds)
    .setExpirationTime(nowSeconds + TOKEN_LIFE_SECONDS)
    .setJti(randomUUID())
    .sign(key);
}

function learnOffset({ clock, offset }: SignedFetchOptions, answer: HttpAnswer): void {
  const hubTimeMs = Number(answer.headers.get(HUB_TIME_HEADER) ?? Number.NaN);
  if (Number.isFinite(hubTimeMs)) offset.offsetMs = hubTimeMs - clock.nowMs();
}
