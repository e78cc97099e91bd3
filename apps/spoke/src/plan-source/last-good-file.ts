import { readFile, rename, writeFile } from 'node:fs/promises';

import { z } from 'zod';

import type { Logger } from '#platform';

/**
 * A value that a process keeps on disk so that it can go on from it while the controller is away (R21). Trouble with the
 * file is logged and never stops anything: the controller knows better. Without a file nothing is kept.
 */
export class LastGoodFile<T> {
  readonly #schema: z.ZodType<{ readonly version: 1; readonly value: T }>;

  constructor(
    private readonly file: string | undefined,
    schema: z.ZodType<T>,
    private readonly logger: Logger,
  ) {
    this.#schema = z.object({ version: z.literal(1), value: schema });
  }

  /** What was saved last, or undefined where nothing readable was. */
  async load(): Promise<T | undefined> {
    if (this.file === undefined) return undefined;
    try {
      return this.#schema.parse(JSON.parse(await readFile(this.file, 'utf8'))).value;
    } catch (err) {
      const isMissing = err instanceof Error && 'code' in err && err.code === 'ENOENT';
      if (!isMissing) this.logger.warn({ err, file: this.file }, 'the last good state cannot be read; waiting for the controller');
      return undefined;
    }
  }

  /** Replaces what was saved, all of it or nothing. */
  async save(value: T): Promise<void> {
    if (this.file === undefined) return;
    try {
      const draft = `${this.file}.new`;
      await writeFile(draft, JSON.stringify({ version: 1, value }));
      await rename(draft, this.file);
    } catch (err) {
      this.logger.warn({ err, file: this.file }, 'the last good state cannot be saved; a restart will wait for the controller');
    }
  }
}
