import { isNativeError } from 'node:util/types';

import { Code, ConnectError } from '@connectrpc/connect';

import { ERROR_CODE_HEADER } from '#contracts/spoke-api';
import { FleetError, isFleetError, type ErrorKind } from '#domain/fleet';

const BY_HUB_CODE: Readonly<Record<string, readonly [code: string, kind: ErrorKind]>> = {
  UNKNOWN_MEMBER: ['HUB_UNKNOWN_MEMBER', 'user'],
  AUTH_OTHER_CLUSTER: ['HUB_PERMISSION_DENIED', 'user'],
  ENROL_TOKEN_USED: ['HUB_TOKEN_USED', 'user'],
  ENROL_TOKEN_EXPIRED: ['HUB_TOKEN_EXPIRED', 'user'],
  ENROL_TOKEN_FOREIGN: ['HUB_TOKEN_FOREIGN', 'user'],
  INVALID_REPORT: ['HUB_INVALID_REPORT', 'user'],
  REPORT_DIGEST_MISMATCH: ['HUB_INVALID_REPORT', 'user'],
  OVERLOADED: ['HUB_UNAVAILABLE', 'transient'],
  HUB_STOPPING: ['HUB_UNAVAILABLE', 'transient'],
  STORE_UNAVAILABLE: ['HUB_UNAVAILABLE', 'transient'],
};

const BY_CONNECT_CODE: ReadonlyMap<Code, readonly [code: string, kind: ErrorKind]> = new Map([
  [Code.Unauthenticated, ['HUB_UNAUTHENTICATED', 'user']],
  [Code.PermissionDenied, ['HUB_PERMISSION_DENIED', 'user']],
  [Code.InvalidArgument, ['HUB_INVALID_REPORT', 'user']],
  [Code.AlreadyExists, ['HUB_PERMISSION_DENIED', 'user']],
  [Code.DeadlineExceeded, ['HUB_TIMEOUT', 'transient']],
]);

/** The FleetError of a failed call, by the HubLink port's codes; the hub's own words are kept. */
export function toLinkError(error: unknown, hubUrl: string): FleetError {
  if (isFleetError(error)) return error;
  const connect = ConnectError.from(error);
  const hubCode = connect.metadata.get(ERROR_CODE_HEADER) ?? '';
  if (hubCode === '' && isNativeError(connect.cause)) return toSocketError(connect.cause, hubUrl);
  const [code, kind] = BY_HUB_CODE[hubCode] ?? BY_CONNECT_CODE.get(connect.code) ?? (['HUB_UNAVAILABLE', 'transient'] as const);
  return new FleetError(code, kind, `${hubUrl}: ${hubCode === '' ? '' : `${hubCode}: `}${connect.rawMessage}`, { cause: error });
}

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
