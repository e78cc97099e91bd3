import type { NodeObject, PodObject } from '#domain/routing-plan';

/** Names of the Ready nodes that run our node agent: those whose word counts. */
export function agentNodes(pods: readonly PodObject[], nodes: readonly NodeObject[], namespace: string): ReadonlySet<string> {
  const ready = new Set(nodes.filter((node) => node.isReady).map((node) => node.name));
  const agents = pods.filter((pod) => pod.namespace === namespace && isNodeAgent(pod.labels) && !pod.isFinished && !pod.isDeleting);
  return new Set(agents.map((pod) => pod.node).filter((node) => ready.has(node)));
}

const isNodeAgent = (labels: Readonly<Record<string, string>>): boolean => labels['app.kubernetes.io/name'] === 'spillway-spoke' && labels['app.kubernetes.io/component'] === 'node';
