import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import type { XdsSnapshot } from '#domain/xds-snapshot';
import type { Clock } from '#ports';

import type { PlanAcknowledgements, PlanServer } from '../controller/xds/plan-server.js';

type AckStatus = ReturnType<PlanAcknowledgements['status']>;

interface SimulatedNode {
  openedAtMs: number | undefined;
  /** What the node has programmed: versions by cluster name. */
  programmed: ReadonlyMap<string, string>;
  mode: 'acknowledge' | 'hold' | { readonly refuse: string };
}

/** Nodes that have no kernel: they take every snapshot over at once, or as told, and acknowledge it as real nodes do. */
export class SimulatedNodes implements PlanServer {
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #listeners = new Set<(nodeId: string) => void>();
  #snapshot: XdsSnapshot | undefined;

  constructor(private readonly clock: Clock) {}

  readonly acknowledgements: PlanAcknowledgements = {
    streams: () => [...this.#nodes].flatMap(([nodeId, { openedAtMs }]) => (openedAtMs === undefined ? [] : [{ nodeId, identity: 'spillway-spoke-node', peer: nodeId, openedAtMs }])),
    status: (nodeId, typeUrl, name) => this.#status(nodeId, typeUrl, name),
    onChange: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  /** What is served; undefined before the first snapshot. */
  get snapshot(): XdsSnapshot | undefined {
    return this.#snapshot;
  }

  setSnapshot(snapshot: XdsSnapshot): void {
    this.#snapshot = snapshot;
    for (const nodeId of this.#nodes.keys()) this.#take(nodeId);
  }

  /** A node connects. `hold` leaves snapshots unanswered, `refuse` answers them with the kernel's words. */
  connect(nodeId: string, mode: SimulatedNode['mode'] = 'acknowledge'): void {
    const node = this.#nodes.get(nodeId) ?? { openedAtMs: undefined, programmed: new Map<string, string>(), mode };
    node.mode = mode;
    node.openedAtMs ??= this.clock.nowMs();
    this.#nodes.set(nodeId, node);
    this.#take(nodeId);
  }

  /** A node's stream ends; what it has programmed stays. */
  disconnect(nodeId: string): void {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) return;
    node.openedAtMs = undefined;
    this.#tell(nodeId);
  }

  async close(): Promise<void> {
    for (const nodeId of this.#nodes.keys()) this.disconnect(nodeId);
  }

  #take(nodeId: string): void {
    const node = this.#nodes.get(nodeId);
    if (node === undefined || node.openedAtMs === undefined || this.#snapshot === undefined) return;
    if (node.mode === 'acknowledge') node.programmed = new Map(this.#snapshot.clusters.map((cluster) => [cluster.name, cluster.version]));
    this.#tell(nodeId);
  }

  #tell(nodeId: string): void {
    for (const listener of this.#listeners) listener(nodeId);
  }

  #status(nodeId: string, typeUrl: string, name: string): AckStatus {
    const node = this.#nodes.get(nodeId);
    if (node?.openedAtMs === undefined || this.#snapshot === undefined || typeUrl !== CLUSTER_TYPE_URL) return { kind: 'unknown' };
    const version = this.#snapshot.clusters.find((cluster) => cluster.name === name)?.version ?? '';
    if ((node.programmed.get(name) ?? '') === version) return { kind: 'acked', version };
    return typeof node.mode === 'object' ? { kind: 'nacked', version, message: node.mode.refuse } : { kind: 'pending', version };
  }
}
