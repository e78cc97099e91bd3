import { readFile, rename, writeFile } from 'node:fs/promises';

import { z } from 'zod';

import type { PlannedBackendId, Frontend } from '#domain/routing-plan';
import type { Logger } from '#platform';

const protocolSchema = z.enum(['TCP', 'UDP']);
const backendIdSchema = z.string().transform((text) => text as PlannedBackendId);
const listenerSchema = z.object({
  name: z.string(),
  port: z.number().int(),
  protocol: protocolSchema,
  uses: z.array(z.object({ backend: backendIdSchema, weight: z.number().int() })),
  rejectWeight: z.number().int(),
});
/** A frontend as it is kept on disk. */
export const frontendSchema = z.object({
  kind: z.literal('gateway'),
  namespace: z.string(),
  name: z.string(),
  addresses: z.array(z.string()),
  dnsNames: z.array(z.string()),
  listeners: z.array(listenerSchema),
});
const fileSchema = z.object({ version: z.literal(1), frontends: z.array(frontendSchema) });

/**
 * The last frontends that were answered from, on disk, so that a restarted process answers at once even while the
 * controller is away (R21). Trouble with the file is logged and never stops anything: the controller knows better.
 */
export class LastGoodFrontends {
  constructor(
    private readonly file: string | undefined,
    private readonly logger: Logger,
  ) {}

  /** What was saved last, or undefined where nothing readable was. */
  async load(): Promise<readonly Frontend[] | undefined> {
    if (this.file === undefined) return undefined;
    try {
      return fileSchema.parse(JSON.parse(await readFile(this.file, 'utf8'))).frontends;
    } catch (err) {
      const isMissing = err instanceof Error && 'code' in err && err.code === 'ENOENT';
      if (!isMissing) this.logger.warn({ err, file: this.file }, 'the last good zone cannot be read; waiting for the controller');
      return undefined;
    }
  }

  /** Replaces what was saved, all of it or nothing. */
  async save(frontends: readonly Frontend[]): Promise<void> {
    if (this.file === undefined) return;
    try {
      const draft = `${this.file}.new`;
      await writeFile(draft, JSON.stringify({ version: 1, frontends }));
      await rename(draft, this.file);
    } catch (err) {
      this.logger.warn({ err, file: this.file }, 'the last good zone cannot be saved; a restart will wait for the controller');
    }
  }
}
