import { isFleetError } from '#domain/fleet';
import { DEFAULT_JUDGE_LIMITS, judgeMembers, type JudgeOutcome, type JudgeState } from '#domain/membership';
import type { Logger } from '#platform';
import type { ClusterRecord, Clock, FleetStore, JobQueue, Lease } from '#ports';

import { AutomationView } from './automation-view.js';
import { RegistrationWatch } from './registration-watch.js';

/** How often the fleet is judged. */
const JUDGE_TICK_MS = 1_000;

/** How long a judge may be silent before another may take over. */
const JUDGE_LEASE_TTL_MS = 10_000;

const LEASE = 'judge';
const BY = 'judge';

/** What the judge works with. */
export interface JudgeParts {
  readonly store: FleetStore;
  readonly queue: JobQueue;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of this process as a holder of leases. */
  readonly holder: string;
  readonly staleAfterMs: number;
  /** Whether some hub is there to take reports: silence towards nobody is none. */
  readonly isHubListening: () => Promise<boolean>;
}

/**
 * Judges every second, in one worker of the fleet at a time: who is stale, whether automation freezes or goes on. Judgements
 * are log entries, written under a fencing token, so that all hubs hold the same opinion. It also sees who registered or was
 * asked to leave, and has the queue look after them at once.
 */
export class JudgeLoop {
  readonly #parts: JudgeParts;
  readonly #stopped = new AbortController();
  readonly #automation: AutomationView;
  readonly #registrations = new RegistrationWatch();
  #state: JudgeState | undefined;
  #lease: Lease | undefined;
  #lastTickAtMs: number | undefined;
  #trouble: string | undefined;
  #running: Promise<void> = Promise.resolve();
  constructor(parts: JudgeParts) {
    this.#parts = parts;
    this.#automation = new AutomationView(parts.store.changeLog);
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    if (this.#lease !== undefined) await this.#parts.store.leases.release(this.#lease).catch(() => undefined);
  }

  /** Whether this worker is the judge. */
  get isLeading(): boolean {
    return this.#lease !== undefined;
  }

  /** Why the store does not work for us at this moment, or undefined. */
  unavailableReason(): string | undefined {
    return this.#lastTickAtMs === undefined ? (this.#trouble ?? 'has not begun') : this.#trouble;
  }

  /** One judgement, where this worker holds the lease. */
  async tick(): Promise<void> {
    const { store, holder, clock } = this.#parts;
    this.#lease = await store.leases.acquire(LEASE, holder, JUDGE_LEASE_TTL_MS);
    this.#lastTickAtMs = clock.nowMs();
    if (this.#lease === undefined) {
      // The next judge counts anew, and so shall we when it is our turn again.
      this.#state = undefined;
      this.#registrations.reset();
      return;
    }
    const records = await store.membership.list();
    await this.#judge(records, this.#lease);
    for (const key of this.#registrations.changedKeys(records)) await this.#parts.queue.request(key);
    this.#registrations.saw(records);
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        await this.tick();
        this.#trouble = undefined;
      } catch (error) {
        this.#note(error);
      }
      await this.#parts.clock.sleep(JUDGE_TICK_MS, this.#stopped.signal);
    }
  }

  async #judge(records: readonly ClusterRecord[], lease: Lease): Promise<void> {
    const [freeze, isHubListening] = await Promise.all([this.#automation.currentFreeze(), this.#parts.isHubListening()]);
    const members = records.filter((record) => record.removal === undefined).map((record) => ({ clusterId: record.cluster.id, freshness: record.freshness, lastReportAtMs: record.spoke?.lastReportAtMs }));
    const limits = { ...DEFAULT_JUDGE_LIMITS, staleAfterMs: this.#parts.staleAfterMs };
    const outcome = judgeMembers(this.#state, { nowMs: this.#parts.clock.nowMs(), isHubListening, members, freeze, limits });
    this.#state = outcome.state;
    await this.#write(outcome, lease);
  }

  async #write({ judgements, automation }: JudgeOutcome, lease: Lease): Promise<void> {
    const { store, logger } = this.#parts;
    if (automation.kind === 'freeze') {
      await store.policies.freeze({ reason: automation.reason, capacities: await this.#automation.capacities() }, BY, lease);
      logger.warn({ reason: automation.reason }, 'automation frozen');
    }
    if (automation.kind === 'resume') {
      await store.policies.resume(BY, lease);
      logger.info('automation resumed');
    }
    if (judgements.length === 0) return;
    const written = await store.reports.judge(judgements, lease);
    if (written.length > 0) logger.warn({ clusterIds: written }, 'members judged stale');
  }

  #note(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#trouble) return;
    this.#trouble = message;
    this.#parts.logger.warn({ code: isFleetError(error) ? error.code : 'UNKNOWN', reason: message }, 'could not judge');
  }
}
