import { InvalidArgumentError, Option } from 'commander';

import type { Env } from '#platform';
import type { Clock } from '#ports';

import { connectHub } from '../cli-settings.js';
import type { HubClient } from '../hub-client.js';
import { OUTPUT_FORMATS, type OutputFormat } from '../output.js';
import type { Terminal } from '../terminal.js';

/** What every command gets: where to write, the clock, the environment. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly env: Env;
}

/** Flags that every command which talks to a hub takes. */
export interface HubFlags {
  readonly hub?: string;
  readonly token?: string;
}

/** The hub that flags, environment or settings name. */
export const hubOf = (context: CommandContext, flags: HubFlags): HubClient => connectHub(context.env, flags);

/** Parses `-o`. */
export function parseOutputFormat(text: string): OutputFormat {
  const format = OUTPUT_FORMATS.find((one) => one === text);
  if (format === undefined) throw new InvalidArgumentError(`use one of ${OUTPUT_FORMATS.join(', ')}.`);
  return format;
}

/** One label of a repeatable `--label key=value`. */
export interface LabelFlag {
  readonly key: string;
  readonly value: string;
}

/** Collects `--label key=value`. */
export function collectLabels(text: string, before: readonly LabelFlag[] = []): readonly LabelFlag[] {
  const at = text.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError('write key=value.');
  return [...before, { key: text.slice(0, at), value: text.slice(at + 1) }];
}

/** Collects a repeatable flag. */
export const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** `--timeout` of commands that take `--wait`. */
export const timeoutOption = (): Option => new Option('--timeout <duration>', 'for --wait, such as 90s, 5m or 1h').argParser(parseDuration).default(300_000, '5m');

/** Parses a duration such as `90s`, `5m` or `1h` into milliseconds. */
function parseDuration(text: string): number {
  const match = /^(\d+)(s|m|h)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('write a duration such as 90s, 5m or 1h.');
  return Number(match[1]) * { s: 1_000, m: 60_000, h: 3_600_000 }[match[2] as 's' | 'm' | 'h'];
}
