import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { isFleetError } from '#domain/fleet';
import { FleetStore, JobQueue, type KeyOutcome } from '#ports';

import { PROCESSOR_TOOLS, type ProcessorTools } from '../processor-tools.js';
import { MemberReconciler } from './member-reconciler.js';

/** Hands keys of the queue to the reconciler: one key is one member cluster. */
@Injectable()
export class MemberProcessor implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(JobQueue) private readonly queue: JobQueue,
    @Inject(MemberReconciler) private readonly reconciler: MemberReconciler,
    @Inject(FleetStore) private readonly store: FleetStore,
    @Inject(PROCESSOR_TOOLS) private readonly tools: ProcessorTools,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.queue.process({
      reconcile: (key) => this.#reconcile(key),
      resyncKeys: async () => (await this.store.membership.list()).map((record) => record.cluster.id),
      resyncEveryMs: this.tools.settings.resyncIntervalMs,
      concurrency: this.tools.settings.concurrency,
      failed: (key, error, nextRunInMs) => this.#failed(key, error, nextRunInMs),
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.queue.close();
  }

  async #reconcile(key: string): Promise<KeyOutcome> {
    const startedMs = this.tools.clock.monotonicMs();
    const seconds = (): number => (this.tools.clock.monotonicMs() - startedMs) / 1_000;
    try {
      const outcome = await this.reconciler.reconcile(key);
      this.tools.metrics.reconciled('ok', seconds());
      return outcome;
    } catch (error) {
      this.tools.metrics.reconciled(isFleetError(error) ? error.kind : 'bug', seconds());
      throw error;
    }
  }

  #failed(clusterId: string, error: unknown, nextRunInMs: number): void {
    if (isFleetError(error) && error.kind !== 'bug') this.tools.logger.warn({ clusterId, code: error.code, reason: error.message, nextRunInMs }, 'member not reconciled');
    else this.tools.logger.error({ clusterId, err: error, nextRunInMs }, 'member not reconciled');
  }
}
