import { condition, type MemberCondition } from './member-condition.js';

const REASONS: Readonly<Record<string, string>> = {
  KUBE_UNREACHABLE: 'Unreachable',
  KUBE_DNS: 'NameUnresolved',
  KUBE_TIMEOUT: 'TimedOut',
  KUBE_TLS: 'TlsFailed',
  KUBE_TLS_UNTRUSTED: 'CaMismatch',
  KUBE_TLS_EXPIRED: 'ServerCertificateExpired',
  KUBE_TLS_NAME: 'ServerNameMismatch',
  KUBE_CLIENT_CERT_EXPIRED: 'ClientCertificateExpired',
  KUBE_ADDRESS_REFUSED: 'AddressRefused',
  KUBE_UNAUTHORIZED: 'Unauthorized',
  KUBE_THROTTLED: 'Throttled',
  KUBE_SERVER_ERROR: 'ServerError',
  KUBECONFIG_REFUSED: 'KubeconfigRefused',
};

/**
 * Whether the member's API server answers the hub. It says nothing of the data path or of the spoke, which have their own
 * conditions. An answer that is only a refusal (403, a conflict) still proves that the API is there.
 */
export function apiReachableCondition(error: { readonly code: string; readonly message: string } | undefined): MemberCondition {
  const reason = error === undefined ? undefined : REASONS[error.code];
  if (error === undefined || reason === undefined) return condition('ApiReachable', 'True', 'Answered', 'The API server answers.');
  return condition('ApiReachable', 'False', reason, error.message);
}

/** Whether the member's spoke talks to the hub. */
export function spokeReportingCondition(spoke: { readonly lastReportAtMs: number } | undefined, nowMs: number, silentAfterMs: number): MemberCondition {
  if (spoke === undefined) return condition('SpokeReporting', 'Unknown', 'NeverReported', 'The spoke has not enrolled and reported yet.');
  const silentMs = nowMs - spoke.lastReportAtMs;
  if (silentMs <= silentAfterMs) return condition('SpokeReporting', 'True', 'Reporting', 'The spoke reports.');
  return condition('SpokeReporting', 'False', 'Silent', `The spoke is silent since ${new Date(spoke.lastReportAtMs).toISOString()}; look at the pods of spillway-system in the member.`);
}
