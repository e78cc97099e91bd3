import type { Pod } from './pod-types.js';

/** Facts that a node adds to its pods. */
export interface PodFacts {
  readonly podIp: string;
  readonly hostIp: string;
}

/** The value of a downward API field path, or undefined where the path is unknown. */
export function fieldValue(pod: Pod, fieldPath: string, facts: PodFacts): string | undefined {
  const keyed = /^metadata\.(labels|annotations)(?:\['([^']+)'\])?$/.exec(fieldPath);
  if (keyed !== null) {
    const map = pod.metadata[keyed[1] as 'labels' | 'annotations'] ?? {};
    return keyed[2] === undefined ? renderMap(map) : (map[keyed[2]] ?? '');
  }
  return plainFields(pod, facts)[fieldPath];
}

function plainFields(pod: Pod, facts: PodFacts): Readonly<Record<string, string>> {
  return {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace ?? '',
    'metadata.uid': pod.metadata.uid ?? '',
    'spec.nodeName': pod.spec.nodeName ?? '',
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
    'status.podIP': facts.podIp,
    'status.podIPs': facts.podIp,
    'status.hostIP': facts.hostIp,
    'status.hostIPs': facts.hostIp,
  };
}

const renderMap = (map: Readonly<Record<string, string>>): string =>
  Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
