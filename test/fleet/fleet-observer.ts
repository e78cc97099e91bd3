import type { TestbedCluster, TestbedNode } from '#testbed';

import type { FleetUnderTest } from './fleet-under-test.js';
import { SAMPLE } from './sample-objects.js';
import { until } from './until.js';

/** How many servers each cluster has, by its name. */
export type Replicas = Readonly<Record<string, number>>;

/** Where the hub stands in its history. */
export interface Position {
  readonly epoch: string;
  readonly sequence: bigint;
}

/** What the hub last heard of one member. */
export interface HeardMember {
  readonly name: string;
  readonly observedAtMs: number;
  /** What its data plane was last built from. */
  readonly applied: Position;
}

const SPOKE_NAMESPACE = 'spillway-system';
const BURST = { rate: 200, seconds: 2 } as const;

/** Looks at a fleet from outside: what the hub says, what kernels hold, who answers. */
export class FleetObserver {
  readonly #fleet: FleetUnderTest;
  constructor(fleet: FleetUnderTest) {
    this.#fleet = fleet;
  }

  async position(): Promise<Position> {
    const { fleet } = await this.#fleet.client.query<{ readonly fleet: { readonly position: RawPosition } }>('{ fleet { position { epoch sequence } } }');
    return toPosition(fleet.position);
  }

  async heard(): Promise<readonly HeardMember[]> {
    const { clusters } = await this.#fleet.client.query<{ readonly clusters: { readonly nodes: readonly { readonly name: string; readonly observedAt: string | null; readonly spoke: { readonly applied: RawPosition | null } | null }[] } }>(
      '{ clusters(first: 100) { nodes { name observedAt spoke { applied { epoch sequence } } } } }',
    );
    return clusters.nodes.map(({ name, observedAt, spoke }) => ({ name, observedAtMs: Date.parse(observedAt ?? '') || 0, applied: toPosition(spoke?.applied ?? { epoch: '', sequence: '0' }) }));
  }

  /** Waits until every member has reported since a time, and its data plane follows an epoch. */
  async untilHeard(sinceMs: number, epoch: string): Promise<void> {
    let last: readonly HeardMember[] = [];
    const isHeard = async (): Promise<boolean> => {
      last = await this.heard();
      return last.length === this.#fleet.clusters.length && last.every((member) => member.observedAtMs >= sinceMs && member.applied.epoch === epoch);
    };
    await until(`every member reports under epoch ${epoch}`, isHeard, 90_000, 250).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${last.map(({ name, observedAtMs, applied }) => `${name} ${observedAtMs - sinceMs} ms, ${applied.epoch} ${applied.sequence}`).join('; ')}`, { cause: error });
    });
  }

  /** Waits until the hub counts as many ready endpoints in each cluster. */
  async untilHubCounts(replicas: Replicas): Promise<void> {
    let last = '';
    const isSo = async (): Promise<boolean> => {
      const { backend } = await this.#fleet.client.query<{ readonly backend: { readonly members: { readonly nodes: readonly { readonly cluster: string; readonly readyCount: number }[] } } | null }>(
        `{ backend(namespace: "${SAMPLE.namespace}", name: "${SAMPLE.name}") { members { nodes { cluster readyCount } } } }`,
      );
      const counts = new Map(backend?.members.nodes.map(({ cluster, readyCount }) => [cluster, readyCount]));
      last = JSON.stringify([...counts]);
      return Object.entries(replicas).every(([cluster, count]) => counts.get(cluster) === count);
    };
    await until(`the hub counts ${JSON.stringify(replicas)}`, isSo, 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${last}`, { cause: error });
    });
  }

  /** Operations that all nodes' agents have sent to their kernels since they started: it stays where nothing changes. */
  async kernelOperations(): Promise<number> {
    const counts = await Promise.all(this.#nodes().map(operationsOf));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  #nodes(): readonly TestbedNode[] {
    return this.#fleet.clusters.flatMap((cluster) => cluster.nodes);
  }

  /** Throws unless bursts from every cluster are answered by all, in shares of their servers, none failing. */
  async expectShares(replicas: Replicas): Promise<void> {
    await Promise.all(this.#fleet.clusters.map((cluster) => this.#expectShares(cluster, replicas)));
  }

  async #expectShares(from: TestbedCluster, replicas: Replicas): Promise<void> {
    const { sent, byCluster, errors } = await this.#fleet.traffic(from, BURST);
    const total = Object.values(replicas).reduce((sum, count) => sum + count, 0);
    const off = Object.entries(replicas).filter(([cluster, count]) => {
      const share = count / total;
      return Math.abs((byCluster[cluster] ?? 0) - sent * share) > 4.5 * Math.sqrt(sent * share * (1 - share));
    });
    if (off.length > 0 || Object.keys(errors).length > 0) throw new Error(`${from.name} is answered by ${JSON.stringify(byCluster)} of ${sent}, not in the shares ${JSON.stringify(replicas)}; errors ${JSON.stringify(errors)}`);
  }

  /** The names of a cluster's sample servers. */
  async servers(cluster: TestbedCluster): Promise<readonly string[]> {
    return (await cluster.pods(SAMPLE.namespace, `app=${SAMPLE.name}`)).map((pod) => pod.metadata.name).sort();
  }

  /** Waits until a server answers a cluster's requests, or does so no more. */
  async untilAnswering(from: TestbedCluster, server: string, isAnswering: boolean): Promise<void> {
    await until(`${server} ${isAnswering ? 'answers' : 'answers no more'} in ${from.name}`, async () => {
      const { byPod } = await this.#fleet.traffic(from, { rate: 150, seconds: 0.6 });
      return (byPod[server] !== undefined) === isAnswering;
    });
  }

  /** The names and process ids of a part of the spoke in a cluster. */
  async spokePids(cluster: TestbedCluster, component: 'controller' | 'node' | 'dns'): Promise<ReadonlyMap<string, number>> {
    const pods = await cluster.pods(SPOKE_NAMESPACE, `app.kubernetes.io/component=${component}`);
    const pids = await Promise.all(pods.map(async ({ metadata: { name } }) => [name, await cluster.containerPid({ namespace: SPOKE_NAMESPACE, name }).catch(() => 0)] as const));
    return new Map(pids);
  }

  /** All that a cluster's controllers have written. */
  async controllerLog(cluster: TestbedCluster): Promise<string> {
    const pods = await this.spokePids(cluster, 'controller');
    return (await Promise.all([...pods.keys()].map((name) => cluster.logs({ namespace: SPOKE_NAMESPACE, name })))).join('');
  }
}

interface RawPosition {
  readonly epoch: string;
  readonly sequence: string;
}

const toPosition = ({ epoch, sequence }: RawPosition): Position => ({ epoch, sequence: BigInt(sequence) });

async function operationsOf(node: TestbedNode): Promise<number> {
  const text = await node.exec([process.execPath, '--input-type=module', '-e', "process.stdout.write(await (await fetch('http://127.0.0.1:9091/metrics')).text())"]);
  const value = /^spillway_node_operations_total(?:\{[^}]*\})? (\d+)$/m.exec(text)?.[1];
  if (value === undefined) throw new Error(`${node.name} does not count its operations`);
  return Number(value);
}
