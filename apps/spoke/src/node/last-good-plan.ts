import type { RoutingPlan } from '#domain/routing-plan';
import type { Logger } from '#platform';
import type { Clock } from '#ports';

import { LastGoodFile } from '../plan-source/last-good-file.js';
import { planSchema } from '../plan-source/plan-schema.js';

/**
 * The last plan that was in force, on disk: for a kernel that has lost the table (a reboot, a flush while no agent ran)
 * before the controller can be reached (R21). Written at most once per interval, since plans may be large and change often.
 */
export class LastGoodPlan {
  readonly #file: LastGoodFile<RoutingPlan>;
  readonly #stopped = new AbortController();
  #unsaved: RoutingPlan | undefined;
  #saving: Promise<void> | undefined;

  constructor(private readonly options: { readonly file: string | undefined; readonly intervalMs: number; readonly clock: Clock; readonly logger: Logger }) {
    this.#file = new LastGoodFile(options.file, planSchema, options.logger);
  }

  /** What was saved last, or undefined where nothing readable was. */
  async load(): Promise<RoutingPlan | undefined> {
    return this.#file.load();
  }

  /** Keeps a plan; it is on disk within the interval, or when the process stops. */
  keep(plan: RoutingPlan): void {
    if (this.options.file === undefined) return;
    this.#unsaved = plan;
    this.#saving ??= this.#saveWhileUnsaved();
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#saving;
  }

  async #saveWhileUnsaved(): Promise<void> {
    while (this.#unsaved !== undefined) {
      const plan = this.#unsaved;
      this.#unsaved = undefined;
      await this.#file.save(plan);
      await this.options.clock.sleep(this.options.intervalMs, this.#stopped.signal);
    }
    this.#saving = undefined;
  }
}
