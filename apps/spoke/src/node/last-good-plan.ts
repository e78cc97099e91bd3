import { readFile, rename, writeFile } from 'node:fs/promises';

import { z } from 'zod';

import { clusterId } from '#domain/fleet';
import type { PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import type { Logger } from '#platform';
import type { Clock } from '#ports';

import { frontendSchema } from '../dns/last-good-frontends.js';

const endpointSchema = z.object({ address: z.string(), port: z.number().int(), state: z.enum(['ready', 'serving-terminating', 'not-ready']) });
const providerSchema = z.object({
  clusterId: z.string().transform(clusterId),
  locality: z.object({ region: z.string(), zone: z.string() }),
  path: z.enum(['direct', 'gateway']),
  shareBp: z.number().int().min(0).max(10_000),
  endpoints: z.array(endpointSchema),
});
const backendSchema = z.object({ id: z.string().transform((text) => text as PlannedBackendId), protocol: z.enum(['TCP', 'UDP']), providers: z.array(providerSchema) });
const fileSchema = z.object({ version: z.literal(1), plan: z.object({ frontends: z.array(frontendSchema), backends: z.array(backendSchema) }) });

/**
 * The last plan that was in force, on disk: for a kernel that has lost the table (a reboot, a flush while no agent ran)
 * before the controller can be reached (R21). Written at most once per interval, since plans may be large and change
 * often. Trouble with the file is logged and never stops anything.
 */
export class LastGoodPlan {
  readonly #stopped = new AbortController();
  #unsaved: RoutingPlan | undefined;
  #saving: Promise<void> | undefined;

  constructor(private readonly options: { readonly file: string | undefined; readonly intervalMs: number; readonly clock: Clock; readonly logger: Logger }) {}

  /** What was saved last, or undefined where nothing readable was. */
  async load(): Promise<RoutingPlan | undefined> {
    const { file, logger } = this.options;
    if (file === undefined) return undefined;
    try {
      return fileSchema.parse(JSON.parse(await readFile(file, 'utf8'))).plan;
    } catch (err) {
      const isMissing = err instanceof Error && 'code' in err && err.code === 'ENOENT';
      if (!isMissing) logger.warn({ err, file }, 'the last good plan cannot be read; waiting for the controller');
      return undefined;
    }
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
      await this.#save(plan);
      await this.options.clock.sleep(this.options.intervalMs, this.#stopped.signal);
    }
    this.#saving = undefined;
  }

  async #save(plan: RoutingPlan): Promise<void> {
    const { file = '', logger } = this.options;
    try {
      const draft = `${file}.new`;
      await writeFile(draft, JSON.stringify({ version: 1, plan }));
      await rename(draft, file);
    } catch (err) {
      logger.warn({ err, file }, 'the last good plan cannot be saved; a restart without a table will wait for the controller');
    }
  }
}
