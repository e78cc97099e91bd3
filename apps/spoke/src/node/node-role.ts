import { registerXdsClientMetrics, startXdsClient, type XdsClient } from '#adapters/xds-grpc';
import { CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL } from '#contracts/envoy';
import { parseXdsSnapshot, type RenderedPlan, type XdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, createRegistry, loadConfig, startOpsServer, SystemClock, SystemRandom, type Env, type Logger, type OpsServer, type RunningProcess } from '#platform';
import type { Clock, Random } from '#ports';

import { connectionTo } from '../plan-source/plan-source-config.js';
import { NodeConfigSchema } from './config.js';
import { LastGoodPlan } from './last-good-plan.js';
import { NodeMetrics } from './node-metrics.js';
import { openNft, type OpenNft } from './open-nft.js';
import { TableKeeper } from './table-keeper.js';

/** What a test may replace. */
export interface NodeRoleParts {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly openNft?: OpenNft;
  /** False speaks plaintext to a controller on loopback. */
  readonly usesTls?: boolean;
}

/** A running node role. */
export interface NodeRole extends RunningProcess {
  readonly opsUrl: string;
}

/**
 * Starts the node role: follows the controller's clusters and endpoints, brings each consistent set into the kernel's
 * table, and acknowledges it once the kernel has committed it. Until the first set nothing is changed: the rules of an
 * earlier process stay in force, or come back from disk where the kernel has lost them. Stopping keeps the rules. Throws
 * ConfigError with every problem of the environment.
 */
export async function startNodeRole(env: Env, parts: NodeRoleParts = {}): Promise<NodeRole> {
  const config = loadConfig(NodeConfigSchema, env);
  const logger = parts.logger ?? createLogger({ app: 'spoke-node', level: config.logLevel });
  const clock = parts.clock ?? new SystemClock();
  const registry = createRegistry('spoke-node');
  const metrics = new NodeMetrics(registry, () => keeper.rejectedConnections);
  const keeper: TableKeeper = new TableKeeper({ openNft: parts.openNft ?? openNft, clock, logger, metrics, restoreIntervalMs: config.restoreIntervalMs, node: { name: config.nodeName, zone: '', clusterId: undefined } });
  const lastGood = new LastGoodPlan({ ...config.lastGood, clock, logger });
  await restore(keeper, lastGood, logger);
  const updates = new PlanUpdates(keeper, lastGood);
  const client = startXdsClient({
    ...connectionTo(config.xds, parts.usesTls ?? true),
    nodeId: config.nodeName,
    typeUrls: [CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL],
    onUpdate: (snapshot) => updates.apply(snapshot),
    clock,
    random: parts.random ?? new SystemRandom(),
    logger,
  });
  registerXdsClientMetrics(registry, client);
  const checks = new CheckLoop(keeper, clock, config.checkIntervalMs);
  const readiness = { nftables: () => keeper.problem, plan: () => notSynced(client) };
  const ops = await startOpsServer({ ...config.ops, registry, readiness });
  logger.info({ node: config.nodeName, controller: config.xds.target }, 'node role is running');
  return { opsUrl: ops.url, stop: () => stop({ client, checks, keeper, lastGood, ops }) };
}

// A node that cannot reach nftables yet still runs: it says what is missing, and tries again with each plan.
async function restore(keeper: TableKeeper, lastGood: LastGoodPlan, logger: Logger): Promise<void> {
  const plan = await lastGood.load();
  try {
    if (plan === undefined) await keeper.open();
    else if (await keeper.restoreIfLost(plan)) logger.info('the kernel had no table; the last good plan is in force until the controller is reached');
  } catch (err) {
    logger.warn({ err }, 'nftables cannot be used yet; trying again with each plan');
  }
}

function notSynced(client: XdsClient): string | undefined {
  const { hasSynced, isConnected, lastRejection } = client.status();
  if (hasSynced) return undefined;
  if (lastRejection !== undefined) return `no plan is in force yet: ${lastRejection}`;
  return isConnected ? 'the controller has not sent a plan yet' : 'the controller was not reached yet; rules of an earlier process stay in force';
}

/** Turns sets of resources into plans, keeping the objects of what did not change. */
class PlanUpdates {
  #previous: RenderedPlan | undefined;

  constructor(
    private readonly keeper: TableKeeper,
    private readonly lastGood: LastGoodPlan,
  ) {}

  async apply(snapshot: XdsSnapshot): Promise<void> {
    const plan = parseXdsSnapshot(snapshot, this.#previous);
    await this.keeper.apply(plan);
    this.#previous = { plan, snapshot };
    this.lastGood.keep(plan);
  }
}

/** Looks at the table now and then, in case a notification was lost. */
class CheckLoop {
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;

  constructor(keeper: TableKeeper, clock: Clock, intervalMs: number) {
    this.#running = this.#run(keeper, clock, intervalMs);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(keeper: TableKeeper, clock: Clock, intervalMs: number): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await clock.sleep(intervalMs, signal);
      if (!signal.aborted) await keeper.check();
    }
  }
}

interface Stoppable {
  readonly client: XdsClient;
  readonly checks: CheckLoop;
  readonly keeper: TableKeeper;
  readonly lastGood: LastGoodPlan;
  readonly ops: OpsServer;
}

async function stop({ client, checks, keeper, lastGood, ops }: Stoppable): Promise<void> {
  await client.close();
  await checks.stop();
  await lastGood.close();
  await keeper.close();
  await ops.close();
}
