/** Response header (or gRPC trailer) that carries the error's constant code. */
export const ERROR_CODE_HEADER = 'spillway-error-code';

/** Response header on every answer: the hub's clock as epoch milliseconds. */
export const HUB_TIME_HEADER = 'spillway-hub-time-ms';

/** Every error code of the spoke API, with what it means. */
export const SPOKE_API_ERRORS = {
  UNKNOWN_MEMBER: 'This hub does not know the key; keep the last good state and enrol with a new join token.',
  AUTH_MISSING: 'The call carries no bearer token.',
  AUTH_INVALID: 'The token is malformed, signed by another key, or made for another audience or body.',
  AUTH_TIME: 'The token is outside its time by the hub clock; sign again with the offset that this answer carries.',
  AUTH_REPLAYED: 'The token was used before; sign every call anew.',
  AUTH_OTHER_CLUSTER: 'A spoke reads and writes its own cluster only.',
  BODY_TOO_LARGE: 'The request body is over the limit of this call.',
  REQUEST_TIMEOUT: 'The request body did not arrive in time.',
  MALFORMED_REQUEST: 'The request is no valid message of this call.',
  INVALID_REPORT: 'The report has problems; the message names each field.',
  INVALID_ENROLMENT: 'The enrolment has problems; the message names each field.',
  INVALID_SYNC: 'The sync request has problems; the message names each field.',
  REPORT_DIGEST_MISMATCH: 'A full report does not add up to its own digest.',
  ENROL_TOKEN_FOREIGN: 'The join token was not made by this hub, or is for another cluster name.',
  ENROL_TOKEN_USED: 'The join token was used before; tokens are for one use.',
  ENROL_TOKEN_EXPIRED: 'The join token is past its time.',
  ENROL_UID_TAKEN: 'This cluster is a member under another name.',
  ENROL_NAME_TAKEN: 'The name belongs to another cluster.',
  ENROL_KEY_TAKEN: 'The key belongs to another cluster.',
  OVERLOADED: 'The hub serves as many calls as it may; try again soon.',
  HUB_STOPPING: 'The hub is stopping; call again.',
  STORE_UNAVAILABLE: 'The hub cannot reach its database.',
  INTERNAL: 'The hub failed; its log says why.',
} as const;

/** A code of {@link SPOKE_API_ERRORS}. */
export type SpokeApiErrorCode = keyof typeof SPOKE_API_ERRORS;
