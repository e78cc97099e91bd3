import { isNativeError } from 'node:util/types';

import { Code, ConnectError } from '@connectrpc/connect';

import { ERROR_CODE_HEADER, type SpokeApiErrorCode } from '#contracts/spoke-api';
import { FleetError, isFleetError, type ErrorKind } from '#domain/fleet';

// Whole by its type: a code that the contract gains needs a meaning here. Codes that a caller treats alike share one.
const BY_HUB_CODE: Readonly<Record<SpokeApiErrorCode, readonly [code: string, kind: ErrorKind]>> = {
  UNKNOWN_MEMBER: ['HUB_UNKNOWN_MEMBER', 'user'],
  AUTH_MISSING: ['HUB_UNAUTHENTICATED', 'user'],
  AUTH_INVALID: ['HUB_UNAUTHENTICATED', 'user'],
  AUTH_TIME: ['HUB_CLOCK', 'user'],
  AUTH_REPLAYED: ['HUB_UNAVAILABLE', 'transient'],
  AUTH_OTHER_CLUSTER: ['HUB_PERMISSION_DENIED', 'user'],
  BODY_TOO_LARGE: ['HUB_TOO_LARGE', 'user'],
  REQUEST_TIMEOUT: ['HUB_TIMEOUT', 'transient'],
  MALFORMED_REQUEST: ['HUB_MALFORMED', 'bug'],
  INVALID_REPORT: ['HUB_INVALID_REPORT', 'user'],
  INVALID_ENROLMENT: ['HUB_INVALID_ENROLMENT', 'user'],
  INVALID_SYNC: ['HUB_INVALID_SYNC', 'bug'],
  REPORT_DIGEST_MISMATCH: ['HUB_INVALID_REPORT', 'user'],
  ENROL_TOKEN_USED: ['HUB_TOKEN_USED', 'user'],
  ENROL_TOKEN_EXPIRED: ['HUB_TOKEN_EXPIRED', 'user'],
  ENROL_TOKEN_FOREIGN: ['HUB_TOKEN_FOREIGN', 'user'],
  ENROL_UID_TAKEN: ['HUB_UID_TAKEN', 'user'],
  ENROL_NAME_TAKEN: ['HUB_NAME_TAKEN', 'user'],
  ENROL_KEY_TAKEN: ['HUB_KEY_TAKEN', 'user'],
  OVERLOADED: ['HUB_UNAVAILABLE', 'transient'],
  HUB_STOPPING: ['HUB_UNAVAILABLE', 'transient'],
  STORE_UNAVAILABLE: ['HUB_UNAVAILABLE', 'transient'],
  INTERNAL: ['HUB_INTERNAL', 'transient'],
};

// Of an answer without a code of ours: a proxy in between, or a hub that is newer.
const BY_CONNECT_CODE: ReadonlyMap<Code, readonly [code: string, kind: ErrorKind]> = new Map([
  [Code.Unauthenticated, ['HUB_UNAUTHENTICATED', 'user']],
  [Code.PermissionDenied, ['HUB_PERMISSION_DENIED', 'user']],
  [Code.InvalidArgument, ['HUB_MALFORMED', 'bug']],
  [Code.AlreadyExists, ['HUB_PERMISSION_DENIED', 'user']],
  [Code.DeadlineExceeded, ['HUB_TIMEOUT', 'transient']],
]);

/** The FleetError of a failed call, by the HubLink port's codes; the hub's own words are kept. */
export function toLinkError(error: unknown, hubUrl: string): FleetError {
  if (isFleetError(error)) return error;
  const connect = ConnectError.from(error);
  const hubCode = connect.metadata.get(ERROR_CODE_HEADER) ?? '';
  if (hubCode === '' && isNativeError(connect.cause)) return toSocketError(connect.cause, hubUrl);
  const [code, kind] = meaningOf(hubCode) ?? BY_CONNECT_CODE.get(connect.code) ?? (['HUB_UNAVAILABLE', 'transient'] as const);
  return new FleetError(code, kind, `${hubUrl}: ${hubCode === '' ? '' : `${hubCode}: `}${connect.rawMessage}`, { cause: error });
}

const meaningOf = (hubCode: string): readonly [code: string, kind: ErrorKind] | undefined => (Object.hasOwn(BY_HUB_CODE, hubCode) ? BY_HUB_CODE[hubCode as SpokeApiErrorCode] : undefined);

function toSocketError(cause: Error, hubUrl: string): FleetError {
  if (isFleetError(cause)) return cause;
  const code = (cause as { readonly code?: unknown }).code;
  const text = typeof code === 'string' ? code : cause.name;
  if (text === 'TimeoutError' || text === 'ABORT_ERR' || text === 'ETIMEDOUT') return new FleetError('HUB_TIMEOUT', 'transient', `${hubUrl} did not answer in time`, { cause });
  const isTls = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|EPROTO/.test(text);
  return isTls
    ? new FleetError('HUB_TLS', 'transient', `${hubUrl} shows a certificate that this cluster does not trust (${cause.message}); if the hub was set up anew, join again with a new token`, { cause })
    : new FleetError('HUB_UNREACHABLE', 'transient', `cannot reach the hub at ${hubUrl}: ${cause.message}`, { cause });
}
