import { parse } from 'yaml';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { KubeProxyMode } from '#domain/membership';
import type { Kube, KubeObject } from '#ports';

const NAMESPACE = 'kube-system';

/** How the member's kube-proxy runs, as far as its objects tell: kubeadm's ConfigMap, else a DaemonSet's arguments. Best effort: what may not be read is unknown. */
export async function observeKubeProxyMode(kube: Kube): Promise<KubeProxyMode> {
  try {
    const config = await kube.find(KUBE_KINDS.configMap, { namespace: NAMESPACE, name: 'kube-proxy' });
    const fromConfig = config === undefined ? undefined : modeOfConfig(config);
    if (fromConfig !== undefined) return fromConfig;
    const daemonSets = await kube.list(KUBE_KINDS.daemonSet, { namespace: NAMESPACE, labelSelector: 'k8s-app=kube-proxy' });
    const [first] = daemonSets;
    return first === undefined ? 'absent' : modeOfArguments(JSON.stringify(first['spec'] ?? {}));
  } catch (error) {
    if (isFleetError(error) && error.kind === 'user') return 'unknown';
    throw error;
  }
}

// kubeadm's has some 1,500 characters; a parser of YAML must not be given megabytes of anybody's.
const CONFIG_LENGTH_MAX = 64 * 1024;

function modeOfConfig(object: KubeObject): KubeProxyMode | undefined {
  const text = (object['data'] as Readonly<Record<string, string>> | undefined)?.['config.conf'];
  if (text === undefined) return undefined;
  if (text.length > CONFIG_LENGTH_MAX) return 'unknown';
  try {
    const config = parse(text) as { readonly mode?: unknown } | null;
    // An empty mode is the platform's default, iptables on Linux.
    return asMode(typeof config?.mode === 'string' && config.mode !== '' ? config.mode : 'iptables');
  } catch {
    return 'unknown';
  }
}

const modeOfArguments = (text: string): KubeProxyMode => asMode(/--proxy-mode[=",\s]+(\w+)/.exec(text)?.[1] ?? 'iptables');

const asMode = (mode: string): KubeProxyMode => (mode === 'iptables' || mode === 'nftables' || mode === 'ipvs' ? mode : 'unknown');
