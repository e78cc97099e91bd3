import { corePath, type KubeApi } from '../kube-api/kube-api.js';
import type { Pod } from './pod-types.js';

/** One projected token: for whom, how long, and where it is refreshed to. */
export interface TokenUse {
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
  onToken(token: string): void;
}

const RETRY_MS = 500;
// A real node asks for a new token when a fifth of the old one's life is left.
const REFRESH_AT = 0.8;

/** Keeps one ServiceAccount token of a pod fresh, by TokenRequest bound to the pod, until the returned function is called. */
export function keepTokenFresh(api: KubeApi, pod: Pod, use: TokenUse): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const refresh = async (): Promise<void> => {
    const waitMs = await requestToken(api, pod, use, () => stopped).catch(() => RETRY_MS);
    if (!stopped) timer = setTimeout(() => void refresh(), waitMs);
  };
  void refresh();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

async function requestToken(api: KubeApi, pod: Pod, use: TokenUse, isStopped: () => boolean): Promise<number> {
  const path = `${corePath(pod.metadata.namespace ?? '', 'serviceaccounts', pod.spec.serviceAccountName ?? 'default')}/token`;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      ...(use.audience === undefined || use.audience === '' ? {} : { audiences: [use.audience] }),
      expirationSeconds: use.expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid },
    },
  };
  const { status } = await api.create<{ status: { token: string; expirationTimestamp: string } }>(path, body);
  if (!isStopped()) use.onToken(status.token);
  return Math.max(RETRY_MS, (Date.parse(status.expirationTimestamp) - Date.now()) * REFRESH_AT);
}
