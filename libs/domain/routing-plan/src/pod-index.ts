import { matchesLabels, type LabelSelector } from '#domain/gateway-api';

import type { PodObject } from './local-objects.js';

/** Finds the pods that a selector selects in a namespace, in no particular order. */
export type PodFinder = (namespace: string, selector: LabelSelector) => readonly PodObject[];

/** Indexes pods by label, so that many selectors over many pods cost what they select, not their product. */
export function podFinder(pods: readonly PodObject[]): PodFinder {
  const byNamespace = new Map<string, PodObject[]>();
  const byLabel = new Map<string, PodObject[]>();
  for (const pod of pods) {
    if (!isEndpointPod(pod)) continue;
    push(byNamespace, pod.namespace, pod);
    for (const [key, value] of Object.entries(pod.labels)) push(byLabel, labelKey(pod.namespace, key, value), pod);
  }
  return (namespace, selector) => {
    const candidates = Object.entries(selector.matchLabels).map(([key, value]) => byLabel.get(labelKey(namespace, key, value)) ?? []);
    const fewest = candidates.reduce<readonly PodObject[] | undefined>((best, list) => (best === undefined || list.length < best.length ? list : best), undefined);
    return (fewest ?? byNamespace.get(namespace) ?? []).filter((pod) => matchesLabels(selector, pod.labels));
  };
}

/** Whether a pod can answer at all: a finished one's address may already be another pod's. */
export const isEndpointPod = ({ isFinished, addresses }: PodObject): boolean => !isFinished && addresses.length > 0;
const labelKey = (namespace: string, key: string, value: string): string => `${namespace}\u0000${key}=${value}`;

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
