import type { Pod } from './pod-types.js';

/** A pod's resolv.conf by its dnsPolicy. Nothing but the cluster's DNS exists here, so `Default` knows no server at all. */
export function renderResolvConf(pod: Pod, dnsAddress: string): string {
  const cluster = usesClusterDns(pod) ? clusterSettings(pod.metadata.namespace ?? '', dnsAddress) : { nameservers: [], searches: [], options: [] };
  const own = pod.spec.dnsConfig ?? {};
  const ownOptions = (own.options ?? []).map((option) => (option.value === undefined ? option.name : `${option.name}:${option.value}`));
  return [
    ...[...cluster.nameservers, ...(own.nameservers ?? [])].map((address) => `nameserver ${address}\n`),
    line('search', [...cluster.searches, ...(own.searches ?? [])]),
    line('options', [...cluster.options, ...ownOptions]),
  ].join('');
}

function usesClusterDns(pod: Pod): boolean {
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  return policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && pod.spec.hostNetwork !== true);
}

const clusterSettings = (namespace: string, dnsAddress: string): { nameservers: string[]; searches: string[]; options: string[] } => ({
  nameservers: [dnsAddress],
  searches: [`${namespace}.svc.cluster.local`, 'svc.cluster.local', 'cluster.local'],
  options: ['ndots:5'],
});

const line = (word: string, values: readonly string[]): string => (values.length === 0 ? '' : `${word} ${values.join(' ')}\n`);
