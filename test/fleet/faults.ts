import { corePath, type TestbedCluster } from '#testbed';

import { FleetObserver, type Replicas } from './fleet-observer.js';
import type { FleetUnderTest } from './fleet-under-test.js';
import { sumTraffic } from './running-traffic.js';
import { SAMPLE } from './sample-objects.js';
import type { TrafficReport } from './traffic.js';
import { until } from './until.js';

/** What a fault did. */
export interface FaultOutcome {
  /** Requests from every cluster, from before the fault until the fleet was whole again. */
  readonly traffic: TrafficReport;
  /** What was looked at meanwhile, each a few words that held. */
  readonly checked: readonly string[];
}

const RATE_PER_CLUSTER = 30;
const SPOKE_NAMESPACE = 'spillway-system';

/**
 * Faults, one after the other, on a whole fleet under constant traffic from every cluster. Each leaves the fleet as it found
 * it and throws where what it checks does not hold; the requests are for the caller to judge.
 */
export class Faults {
  readonly #fleet: FleetUnderTest;
  readonly #observer: FleetObserver;
  readonly #replicas: Replicas;

  /** `replicas`: how many servers each cluster has between faults; two at least. */
  constructor(fleet: FleetUnderTest, replicas: Replicas) {
    this.#fleet = fleet;
    this.#observer = new FleetObserver(fleet);
    this.#replicas = replicas;
  }

  /** The hub is killed and started again at once. */
  hubRestarts(): Promise<FaultOutcome> {
    return this.#underTraffic(async (held) => {
      const [before, operations] = [await this.#observer.position(), await this.#observer.kernelOperations()];
      await this.#fleet.hub.end('SIGKILL');
      await this.#fleet.hub.start();
      await this.#observer.untilHeard(Date.now(), before.epoch);
      held('same epoch');
      await this.#expectUntouched(operations, this.#replicas);
      held('no kernel operation');
      await this.#expectChangesArrive();
      held('changes arrive again');
    });
  }

  /** Hub and worker are killed and stay away for a time, in which local changes must apply. */
  hubIsAway(seconds: number): Promise<FaultOutcome> {
    return this.#underTraffic(async (held) => {
      const { epoch } = await this.#observer.position();
      const away = new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      await this.#endHub();
      await this.#expectLocalChangesApply(this.#fleet.clusters);
      held('local changes apply');
      await away;
      await this.#observer.expectShares(this.#replicas);
      held('shares as before');
      await this.#startHub();
      await this.#observer.untilHeard(Date.now(), epoch);
      await this.#expectChangesArrive();
      held('changes arrive again');
    });
  }

  /** A member's controller goes, pod and all, while the hub is away: a new one has the last good state alone to start from. */
  controllerStartsWithoutHub(cluster: TestbedCluster): Promise<FaultOutcome> {
    return this.#underTraffic(async (held) => {
      const { epoch } = await this.#observer.position();
      await this.#endHub();
      const gone = await this.#observer.spokePids(cluster, 'controller');
      for (const name of gone.keys()) await cluster.api.remove(corePath(SPOKE_NAMESPACE, 'pods', name));
      await until(`${cluster.name} has a new controller`, async () => {
        const pods = await this.#observer.spokePids(cluster, 'controller');
        return pods.size === gone.size && [...pods].every(([name, pid]) => !gone.has(name) && pid > 0);
      });
      // A local change reaches the kernel through the new controller only.
      await this.#expectLocalChangesApply([cluster]);
      held('local changes apply through the new controller');
      await this.#observer.expectShares(this.#replicas);
      held('other clusters still answer, in shares as before');
      await this.#startHub();
      await this.#observer.untilHeard(Date.now(), epoch);
      await this.#expectChangesArrive();
      held('changes arrive again');
    });
  }

  /** The database is put back from a backup that is older than the fleet; then the restore is declared. */
  async databaseIsPutBack(): Promise<FaultOutcome> {
    const { postgres, client, hub } = this.#fleet;
    await postgres.backUp();
    const grown = this.#fleet.clusters.at(-1) as TestbedCluster;
    const newer = { ...this.#replicas, [grown.name]: (this.#replicas[grown.name] ?? 0) + 2 };
    await this.#scale(newer);
    await this.#expectChangesArrive();
    return this.#underTraffic(async (held) => {
      const [before, operations] = [await this.#observer.position(), await this.#observer.kernelOperations()];
      await this.#replaceDatabase(() => postgres.putBack());
      await until('every member is seen to know more than the backup', async () => {
        const { epoch, sequence } = await this.#observer.position();
        return hub.log().includes('declare the restore') && (await this.#observer.heard()).every(({ applied }) => applied.epoch === epoch && applied.sequence > sequence);
      }, 90_000);
      await this.#expectUntouched(operations, newer);
      held('undeclared: no kernel operation');
      await client.mutate('declareRestore', 'mutation { declareRestore { userErrors { path code message } } }', {});
      const { epoch } = await this.#observer.position();
      if (epoch === before.epoch) throw new Error('a declared restore keeps the epoch');
      await this.#fleet.waitUntilJoined();
      await this.#observer.untilHeard(0, epoch);
      await this.#observer.untilHubCounts(newer);
      held('declared: the hub knows what came after the backup');
      await this.#expectUntouched(operations, newer);
      held('no kernel operation');
      await this.#scale(this.#replicas);
      await this.#expectChangesArrive();
      held('changes arrive again');
    });
  }

  /** The database is lost: the hub starts over an empty one, and is told policies and clusters again. */
  databaseIsLost(): Promise<FaultOutcome> {
    return this.#underTraffic(async (held) => {
      const [before, operations] = [await this.#observer.position(), await this.#observer.kernelOperations()];
      await this.#replaceDatabase(() => this.#fleet.postgres.empty());
      await until('every controller has seen that it does not know this hub', async () => {
        const logs = await Promise.all(this.#fleet.clusters.map((cluster) => this.#observer.controllerLog(cluster)));
        return logs.every((log) => log.includes('HUB_TLS'));
      }, 90_000);
      await this.#expectUntouched(operations, this.#replicas);
      held('empty: no kernel operation');
      // Policies first: a cluster that joins a hub without them would be told that nothing is the same anywhere.
      await this.#fleet.shareNamespace(SAMPLE.namespace);
      for (const cluster of this.#fleet.clusters) await this.#fleet.register(cluster, { region: cluster.name, zone: '' });
      await this.#fleet.waitUntilJoined();
      const { epoch } = await this.#observer.position();
      if (epoch === before.epoch) throw new Error('an empty database has the epoch of the lost one');
      await this.#observer.untilHeard(0, epoch);
      await this.#observer.untilHubCounts(this.#replicas);
      held('registered again: the hub knows all');
      await this.#expectUntouched(operations, this.#replicas);
      held('no kernel operation');
      await this.#expectChangesArrive();
      held('changes arrive again');
    });
  }

  /** A part of the spoke is killed in every cluster. */
  spokeIsKilled(component: 'controller' | 'node'): Promise<FaultOutcome> {
    return this.#underTraffic(async (held) => {
      await Promise.all(this.#fleet.clusters.map(async (cluster) => {
        const before = await this.#observer.spokePids(cluster, component);
        for (const pid of before.values()) process.kill(pid, 'SIGKILL');
        await until(`${component} of ${cluster.name} runs again`, async () => {
          const now = await this.#observer.spokePids(cluster, component);
          return [...now].every(([name, pid]) => pid > 0 && pid !== before.get(name));
        });
      }));
      await this.#expectChangesArrive();
      held('changes arrive again');
      await this.#observer.expectShares(this.#replicas);
      held('shares as before');
    });
  }

  async #underTraffic(run: (held: (what: string) => void) => Promise<void>): Promise<FaultOutcome> {
    const checked: string[] = [];
    const traffic = await Promise.all(this.#fleet.clusters.map((cluster) => this.#fleet.startTraffic(cluster, { rate: RATE_PER_CLUSTER })));
    try {
      await run((what) => checked.push(what));
    } catch (error) {
      const seen = sumTraffic(await Promise.all(traffic.map((each) => each.stop())));
      throw new Error(`${String(error)} (held before: ${checked.join('; ')}; requests ${JSON.stringify(seen)})`, { cause: error });
    }
    return { traffic: sumTraffic(await Promise.all(traffic.map((each) => each.stop()))), checked };
  }

  async #endHub(): Promise<void> {
    await Promise.all([this.#fleet.hub.end('SIGKILL'), this.#fleet.worker.end('SIGKILL')]);
  }

  async #startHub(): Promise<void> {
    await this.#fleet.hub.start();
    await this.#fleet.worker.start();
  }

  async #replaceDatabase(replace: () => Promise<void>): Promise<void> {
    await this.#endHub();
    await this.#fleet.postgres.stop();
    await replace();
    await this.#fleet.postgres.start();
    await this.#startHub();
  }

  async #scale(replicas: Replicas): Promise<void> {
    for (const cluster of this.#fleet.clusters) await this.#fleet.scaleSample(cluster, replicas[cluster.name] ?? 0);
    await Promise.all(this.#fleet.clusters.map((cluster) => cluster.waitForReadyPods(SAMPLE.namespace, `app=${SAMPLE.name}`, replicas[cluster.name] ?? 0, 60_000)));
    await this.#observer.untilHubCounts(replicas);
  }

  async #expectUntouched(operations: number, replicas: Replicas): Promise<void> {
    await this.#observer.expectShares(replicas);
    const now = await this.#observer.kernelOperations();
    if (now !== operations) throw new Error(`${now - operations} kernel operations where nothing changed`);
  }

  async #expectLocalChangesApply(clusters: readonly TestbedCluster[]): Promise<void> {
    await Promise.all(clusters.map((cluster) => this.#toggleServer(cluster, cluster)));
  }

  /** A server of each cluster that is not ready, and then is, is missed and found again in the next cluster. */
  async #expectChangesArrive(): Promise<void> {
    const { clusters } = this.#fleet;
    await Promise.all(clusters.map((cluster, index) => this.#toggleServer(cluster, clusters[(index + 1) % clusters.length] ?? cluster)));
  }

  async #toggleServer(cluster: TestbedCluster, seenFrom: TestbedCluster): Promise<void> {
    const [server = ''] = await this.#observer.servers(cluster);
    await this.#fleet.setServing(cluster, server, false);
    await this.#observer.untilAnswering(seenFrom, server, false);
    await this.#fleet.setServing(cluster, server, true);
    await this.#observer.untilAnswering(seenFrom, server, true);
  }
}
