import { createHash } from 'node:crypto';

import { create } from '@bufbuild/protobuf';

import { type EnrolRequest, type EnrolResponse, EnrolResponseSchema, isShortText, parseJoinToken, type RotateKeyRequest, type RotateKeyResponse, RotateKeyResponseSchema } from '#contracts/spoke-api';
import type { Problem } from '#domain/fleet';
import type { EnrolmentStore, SpokeKey } from '#ports';

import { problemsError, spokeApiError } from './spoke-api-errors.js';

/** What enrolment needs. */
export interface EnrolServiceParts {
  readonly enrolment: EnrolmentStore;
  readonly audience: string;
  readonly caBundlePem: string;
  readonly caFingerprint: string;
  /** How long an older key stays valid beside a new one. */
  readonly keyOverlapMs: number;
}

/** Binds a spoke's key to the cluster of its join token. */
export async function enrol(request: EnrolRequest, parts: EnrolServiceParts): Promise<EnrolResponse> {
  const problems = enrolmentProblems(request);
  const token = parseJoinToken(request.joinToken);
  if (problems.length > 0 || token === undefined) throw problemsError('INVALID_ENROLMENT', problems);
  if (token.caFingerprint !== parts.caFingerprint) throw spokeApiError('ENROL_TOKEN_FOREIGN', 'this join token was made by another hub; create one here');
  const key = await parts.enrolment.enrol(
    {
      tokenHash: createHash('sha256').update(token.secret).digest('hex'),
      clusterId: token.clusterId,
      clusterUid: request.clusterUid,
      publicKey: Buffer.from(request.publicKey).toString('base64url'),
      spokeVersion: request.spokeVersion,
    },
    parts.keyOverlapMs,
  );
  return create(EnrolResponseSchema, { clusterId: key.clusterId, keyId: key.keyId, audience: parts.audience, caBundlePem: parts.caBundlePem });
}

function enrolmentProblems(request: EnrolRequest): Problem[] {
  const problems: Problem[] = [];
  if (parseJoinToken(request.joinToken) === undefined) problems.push({ path: 'joinToken', code: 'TOKEN_MALFORMED', message: 'this is no join token, or not the whole of it; copy it again' });
  if (request.publicKey.length !== 32) problems.push(keyProblem('publicKey'));
  if (!/^[A-Za-z0-9-]{1,64}$/.test(request.clusterUid)) problems.push({ path: 'clusterUid', code: 'UID_INVALID', message: 'give the UID of the namespace kube-system' });
  if (!isShortText(request.spokeVersion)) problems.push({ path: 'spokeVersion', code: 'TEXT_INVALID', message: 'a version is at most 100 printable ASCII characters' });
  return problems;
}

const keyProblem = (path: string): Problem => ({ path, code: 'KEY_INVALID', message: 'give a raw Ed25519 public key of 32 bytes' });

/** Adds a key that the caller signed for with its present one. */
export async function rotateKey(signedBy: SpokeKey, request: RotateKeyRequest, parts: EnrolServiceParts): Promise<RotateKeyResponse> {
  if (request.newPublicKey.length !== 32) throw problemsError('INVALID_ENROLMENT', [keyProblem('newPublicKey')]);
  const key = await parts.enrolment.rotateKey(signedBy, Buffer.from(request.newPublicKey).toString('base64url'), parts.keyOverlapMs);
  return create(RotateKeyResponseSchema, { keyId: key.keyId });
}
