import { createHash, createPublicKey } from 'node:crypto';

import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';

import { SPOKE_API_LIMITS } from '#contracts/spoke-api';
import type { Clock, EnrolmentStore, SpokeKey } from '#ports';

import type { ReplayCache } from './replay-cache.js';
import { spokeApiError } from './spoke-api-errors.js';

/** What authentication needs. */
export interface AuthenticatorParts {
  readonly enrolment: EnrolmentStore;
  readonly clock: Clock;
  readonly audience: string;
  readonly replays: ReplayCache;
}

/** Clocks may differ by this much before a token counts as outside its time. */
const CLOCK_TOLERANCE_MS = 10_000;

const TOKEN_LENGTH_MAX = 4_096;

/** The key that vouches for a call over exactly these body bytes. Throws UNKNOWN_MEMBER or an AUTH error of the contract. */
export async function authenticateCaller(authorization: string | undefined, body: Uint8Array, parts: AuthenticatorParts): Promise<SpokeKey> {
  const token = /^Bearer ([A-Za-z0-9_.-]+)$/.exec(authorization ?? '')?.[1];
  if (token === undefined || token.length > TOKEN_LENGTH_MAX) throw spokeApiError('AUTH_MISSING', 'sign the call: give "authorization: Bearer" with a token made by the key that was enrolled');
  const key = await findSigner(token, parts.enrolment);
  const payload = await verify(token, key, parts);
  checkClaims(payload, body);
  checkReplay(payload, key, parts);
  return key;
}

async function findSigner(token: string, enrolment: EnrolmentStore): Promise<SpokeKey> {
  const keyId = keyIdOf(token);
  if (keyId === undefined) throw spokeApiError('AUTH_INVALID', 'the token names no key; set kid to the key id that enrolment returned');
  const key = await enrolment.findKey(keyId);
  if (key === undefined) throw spokeApiError('UNKNOWN_MEMBER', 'this hub does not know the key; keep the last good state, and enrol with a new join token');
  return key;
}

function keyIdOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token);
    return typeof kid === 'string' && kid.length <= 100 ? kid : undefined;
  } catch {
    return undefined;
  }
}

async function verify(token: string, key: SpokeKey, { clock, audience }: AuthenticatorParts): Promise<JWTPayload> {
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.publicKey }, format: 'jwk' });
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: ['EdDSA'],
      audience,
      issuer: key.clusterId,
      subject: key.clusterId,
      requiredClaims: ['iat', 'exp', 'jti', 'bsha'],
      currentDate: new Date(clock.nowMs()),
      clockTolerance: CLOCK_TOLERANCE_MS / 1_000,
      maxTokenAge: SPOKE_API_LIMITS.tokenLifeMsMax / 1_000,
    });
    return payload;
  } catch (error) {
    throw isAboutTime(error) ? spokeApiError('AUTH_TIME', 'the token is outside its time by the hub clock; sign again with the time that this answer carries') : spokeApiError('AUTH_INVALID', `the token does not hold: ${reasonOf(error)}`);
  }
}

const isAboutTime = (error: unknown): boolean => error instanceof errors.JWTExpired || (error instanceof errors.JWTClaimValidationFailed && ['iat', 'nbf', 'exp'].includes(error.claim) && error.reason === 'check_failed');

const reasonOf = (error: unknown): string => (error instanceof errors.JOSEError ? error.message : 'it cannot be read');

function checkClaims({ iat = 0, exp = 0, bsha }: JWTPayload, body: Uint8Array): void {
  if (exp <= iat || (exp - iat) * 1_000 > SPOKE_API_LIMITS.tokenLifeMsMax) throw spokeApiError('AUTH_INVALID', 'a token lives at most 60 s; set exp closer to iat');
  const digest = createHash('sha256').update(body).digest('base64url');
  if (bsha !== digest) throw spokeApiError('AUTH_INVALID', 'bsha is not the SHA-256 of this body in base64url; sign the very bytes that are sent');
}

function checkReplay({ jti = '', exp = 0 }: JWTPayload, key: SpokeKey, { replays, clock }: AuthenticatorParts): void {
  if (jti.length < 8 || jti.length > 100) throw spokeApiError('AUTH_INVALID', 'give each token its own random jti of 8 to 100 characters');
  switch (replays.admit(`${key.keyId} ${jti}`, exp * 1_000 + CLOCK_TOLERANCE_MS, clock.nowMs())) {
    case 'new':
      return;
    case 'seen':
      throw spokeApiError('AUTH_REPLAYED', 'this token was used before; sign every call anew');
    case 'full':
      throw spokeApiError('OVERLOADED', 'the hub takes no more calls just now; try again in a few seconds');
  }
}
