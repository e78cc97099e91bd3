import type { NodeAgents, NodeObject, PodObject } from '#domain/routing-plan';

/** The Ready nodes that run our node agent: those whose word counts; and the port on which agents answer. */
export function nodeAgents(pods: readonly PodObject[], nodes: readonly NodeObject[], namespace: string): NodeAgents {
  const ready = new Set(nodes.filter((node) => node.isReady).map((node) => node.name));
  const agents = pods.filter((pod) => pod.namespace === namespace && isNodeAgent(pod.labels) && !pod.isFinished && !pod.isDeleting);
  const ports = agents.flatMap(({ namedPorts }) => namedPorts.filter(({ name }) => name === 'ops')).map(({ port }) => port);
  // While the port is being changed agents answer on either; all of them are asked on one.
  return { nodes: new Set(agents.map((pod) => pod.node).filter((node) => ready.has(node))), port: ports.length === 0 ? 0 : Math.min(...ports) };
}

const isNodeAgent = (labels: Readonly<Record<string, string>>): boolean => labels['app.kubernetes.io/name'] === 'spillway-spoke' && labels['app.kubernetes.io/component'] === 'node';
