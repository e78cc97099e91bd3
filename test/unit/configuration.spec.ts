import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';

import { HubEnvSchema } from '../../apps/hub/src/hub-config.js';
import { ControllerConfigSchema } from '../../apps/spoke/src/controller/config.js';
import { DnsConfigSchema } from '../../apps/spoke/src/dns/config.js';
import { LeaveConfigSchema } from '../../apps/spoke/src/leave/config.js';
import { NodeConfigSchema } from '../../apps/spoke/src/node/config.js';
import { WorkerEnvSchema } from '../../apps/worker/src/worker-config.js';

interface Row {
  readonly variable: string;
  readonly default: string;
  readonly hasMeaning: boolean;
}

/** The rows of the table under one heading of docs/configuration.md. */
function documentedRows(heading: string): readonly Row[] {
  const section = readFileSync('docs/configuration.md', 'utf8').split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^\| `([A-Z_]+)` \| (.*?) \| (.*) \|$/gm)].map(([, variable = '', byDefault = '', meaning = '']) => ({ variable, default: byDefault, hasMeaning: meaning !== '' }));
}

const sorted = (rows: readonly Row[]): readonly Row[] => rows.toSorted((a, b) => (a.variable < b.variable ? -1 : 1));

const schemaRows = (shape: Readonly<Record<string, z.ZodType>>): readonly Row[] =>
  Object.entries(shape).map(([variable, schema]) => {
    const whenUnset = schema.safeParse(undefined);
    return { variable, default: whenUnset.success ? `${(whenUnset.data as string | undefined) ?? 'unset'}` : 'required', hasMeaning: true };
  });

describe('docs/configuration.md', () => {
  it.each([
    { process: 'hub', shape: HubEnvSchema.shape },
    { process: 'worker', shape: WorkerEnvSchema.shape },
    { process: 'spoke controller', shape: ControllerConfigSchema.in.shape },
    { process: 'spoke node', shape: NodeConfigSchema.in.shape },
    { process: 'spoke dns', shape: DnsConfigSchema.in.shape },
    { process: 'spoke leave', shape: LeaveConfigSchema.in.shape },
  ])('names every variable of the $process, with its default, and no other', ({ process, shape }) => {
    expect(sorted(documentedRows(process))).toEqual(sorted(schemaRows(shape)));
  });

  it('names every variable that the CLI reads', () => {
    const read = ['cli-settings.ts', 'commands/run-hub.ts'].map((file) => readFileSync(`apps/cli/src/${file}`, 'utf8')).join('\n').matchAll(/env\['(SPILLWAY_[A-Z_]+)'\]/g);
    expect(documentedRows('CLI').map((row) => row.variable).toSorted()).toEqual([...new Set([...read].map(([, variable = '']) => variable))].toSorted());
  });
});
