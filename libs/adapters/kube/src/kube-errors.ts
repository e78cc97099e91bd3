import { FleetError, isFleetError, plainText } from '#domain/fleet';

/** What an error speaks of: which request, to which server. Never a credential. */
export interface RequestName {
  readonly method: string;
  readonly path: string;
  readonly server: string;
}

const UNTRUSTED = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);
const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET', 'EPIPE', 'EHOSTDOWN', 'ECONNABORTED', 'EADDRNOTAVAIL']);
const DNS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA']);

/** The error of a request that got no answer: which layer failed, and what to look at. */
export function networkError(error: unknown, request: RequestName): FleetError {
  if (isFleetError(error)) return error;
  const code = errorCode(error);
  const make = (fleetCode: string, kind: 'transient' | 'user', text: string): FleetError => new FleetError(fleetCode, kind, text, { cause: error });
  if (UNTRUSTED.has(code)) {
    return make('KUBE_TLS_UNTRUSTED', 'user', `The certificate of ${request.server} is not signed by the given CA (${code}); check certificate-authority-data.`);
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return make('KUBE_TLS_EXPIRED', 'user', `The certificate of ${request.server} is outside its validity (${code}); renew it, or check the clocks.`);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return make('KUBE_TLS_NAME', 'user', `The certificate of ${request.server} does not name that host; use a name that it carries, or set tls-server-name.`);
  }
  if (DNS.has(code)) return make('KUBE_DNS', 'transient', `The host name of ${request.server} does not resolve (${code}).`);
  if (isTimeout(error, code)) return make('KUBE_TIMEOUT', 'transient', `${request.server} did not answer ${request.method} ${request.path} in time.`);
  if (UNREACHABLE.has(code)) return make('KUBE_UNREACHABLE', 'transient', `${request.server} cannot be reached (${code}).`);
  if (/SSL|TLS|CERT|EPROTO/.test(code)) return make('KUBE_TLS', 'transient', `The TLS handshake with ${request.server} failed (${code}).`);
  return make('KUBE_UNREACHABLE', 'transient', `The connection to ${request.server} failed (${code === '' ? 'closed' : code}).`);
}

// A connect over several addresses fails with an AggregateError; the first inner error says why.
function errorCode(error: unknown): string {
  const { code, errors } = fieldsOf(error);
  if (Array.isArray(errors) && errors.length > 0) return errorCode(errors[0]);
  return typeof code === 'string' ? code : '';
}

const isTimeout = (error: unknown, code: string): boolean => code === 'ETIMEDOUT' || fieldsOf(error).name === 'TimeoutError';

const fieldsOf = (error: unknown): { readonly code?: unknown; readonly errors?: unknown; readonly name?: unknown } => (typeof error === 'object' && error !== null ? error : {});

/** The API server's own words on a failure. */
export interface KubeStatus {
  readonly reason: string;
  readonly message: string;
}

/** Longest message of a server that we pass on. */
const MESSAGE_LENGTH_MAX = 600;

/** Reads a `Status` body; anything else becomes its first characters. */
function parseStatus(body: string): KubeStatus {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) {
      const reason = 'reason' in value && typeof value.reason === 'string' ? value.reason : '';
      const message = 'message' in value && typeof value.message === 'string' ? value.message : '';
      return { reason, message: plainText(message, MESSAGE_LENGTH_MAX) };
    }
  } catch {
    // Proxies in front of API servers answer in HTML or plain text.
  }
  return { reason: '', message: plainText(body, 200) };
}

/** The error of an answer that is no success. */
export function statusError(httpStatus: number, body: string, request: RequestName): FleetError {
  const status = parseStatus(body);
  const [code, kind] = codeOf(httpStatus, status.reason);
  const said = status.message === '' ? `HTTP ${httpStatus}` : status.message;
  return new FleetError(code, kind, `${request.method} ${request.path} at ${request.server}: ${said}`);
}

function codeOf(httpStatus: number, reason: string): readonly [string, 'transient' | 'user'] {
  if (httpStatus === 401) return ['KUBE_UNAUTHORIZED', 'user'];
  if (httpStatus === 403) return ['KUBE_FORBIDDEN', 'user'];
  if (httpStatus === 404) return ['KUBE_NOT_FOUND', 'user'];
  if (httpStatus === 409) return [reason === 'AlreadyExists' ? 'KUBE_ALREADY_EXISTS' : 'KUBE_CONFLICT', 'user'];
  if (httpStatus === 410) return ['KUBE_EXPIRED', 'transient'];
  if (httpStatus === 429) return ['KUBE_THROTTLED', 'transient'];
  if (httpStatus === 408 || httpStatus === 504) return ['KUBE_TIMEOUT', 'transient'];
  if (httpStatus >= 400 && httpStatus < 500) return ['KUBE_INVALID', 'user'];
  return ['KUBE_SERVER_ERROR', 'transient'];
}
