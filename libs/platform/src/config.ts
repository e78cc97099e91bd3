import { z } from 'zod';

import { LOG_LEVELS } from './logger.js';

/** Environment as the process got it. */
export type Env = Readonly<Record<string, string | undefined>>;

/** All problems of a configuration at once; main.ts prints them and exits 1. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`configuration has ${problems.length} problem(s):\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Parses an environment by a schema into a frozen, total configuration. Throws {@link ConfigError} with every problem. */
export function loadConfig<T extends z.ZodType>(schema: T, env: Env): Readonly<z.output<T>> {
  const result = schema.safeParse(withoutEmpty(env));
  if (result.success) return Object.freeze(result.data);
  throw new ConfigError(result.error.issues.map((issue) => `${issue.path.join('.') || '(all)'}: ${issue.message}`));
}

// A variable that is set but empty is how shells and charts say "not set".
function withoutEmpty(env: Env): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''));
}

/** A TCP port from the environment. 0 lets the kernel choose. */
export const portSchema = z.coerce.number().int().min(0).max(65_535);

/** A positive number of milliseconds from the environment. */
export const durationMsSchema = z.coerce.number().int().positive();

/** How much a process logs. */
export const logLevelSchema = z.enum(LOG_LEVELS).default('info');

/** `true`, `false`, `1` or `0` from the environment. */
export const flagSchema = z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1');
