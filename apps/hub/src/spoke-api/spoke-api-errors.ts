import { Code, ConnectError } from '@connectrpc/connect';

import { ERROR_CODE_HEADER, type SpokeApiErrorCode } from '#contracts/spoke-api';
import { isFleetError, type Problem } from '#domain/fleet';

/** Connect code of each error of the spoke API. */
const CONNECT_CODES: Readonly<Record<SpokeApiErrorCode, Code>> = {
  UNKNOWN_MEMBER: Code.Unauthenticated,
  AUTH_MISSING: Code.Unauthenticated,
  AUTH_INVALID: Code.Unauthenticated,
  AUTH_TIME: Code.Unauthenticated,
  AUTH_REPLAYED: Code.Unauthenticated,
  AUTH_OTHER_CLUSTER: Code.PermissionDenied,
  BODY_TOO_LARGE: Code.ResourceExhausted,
  REQUEST_TIMEOUT: Code.DeadlineExceeded,
  MALFORMED_REQUEST: Code.InvalidArgument,
  INVALID_REPORT: Code.InvalidArgument,
  INVALID_ENROLMENT: Code.InvalidArgument,
  INVALID_SYNC: Code.InvalidArgument,
  REPORT_DIGEST_MISMATCH: Code.InvalidArgument,
  ENROL_TOKEN_FOREIGN: Code.PermissionDenied,
  ENROL_TOKEN_USED: Code.PermissionDenied,
  ENROL_TOKEN_EXPIRED: Code.PermissionDenied,
  ENROL_UID_TAKEN: Code.AlreadyExists,
  ENROL_NAME_TAKEN: Code.AlreadyExists,
  ENROL_KEY_TAKEN: Code.AlreadyExists,
  OVERLOADED: Code.Unavailable,
  HUB_STOPPING: Code.Unavailable,
  STORE_UNAVAILABLE: Code.Unavailable,
  INTERNAL: Code.Internal,
};

/** An error that callers see: a constant code in the metadata and a sentence that says what to do. */
export function spokeApiError(code: SpokeApiErrorCode, message: string): ConnectError {
  return new ConnectError(message, CONNECT_CODES[code], { [ERROR_CODE_HEADER]: code });
}

/** An error that names every problem of an input. */
export function problemsError(code: SpokeApiErrorCode, problems: readonly Problem[]): ConnectError {
  return spokeApiError(code, problems.map((problem) => `${problem.path}: ${problem.message} (${problem.code})`).join('; '));
}

// Codes of the store under the names that they have in the spoke API.
const RENAMED: Readonly<Record<string, SpokeApiErrorCode>> = { CLUSTER_NOT_FOUND: 'UNKNOWN_MEMBER', REPORT_TOO_MANY_BACKENDS: 'INVALID_REPORT' };

/** What a caller may see of any error: its own code where the contract has it, else INTERNAL without details. */
export function toSpokeApiError(error: unknown): { readonly shown: ConnectError; readonly isOurFault: boolean } {
  if (error instanceof ConnectError) return { shown: error, isOurFault: false };
  if (isFleetError(error)) {
    const code = RENAMED[error.code] ?? error.code;
    if (isContractCode(code)) return { shown: spokeApiError(code, error.message), isOurFault: false };
  }
  return { shown: spokeApiError('INTERNAL', 'the hub failed; its log says why'), isOurFault: true };
}

const isContractCode = (code: string): code is SpokeApiErrorCode => code in CONNECT_CODES;
