import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { until } from '#testing';

import { LastWill } from '../../fleet/last-will.js';

it('a process that is gone leaves neither folders nor children, and touches nothing else', async () => {
  const [left, kept] = [mkdtempSync(join(tmpdir(), 'spillway will-')), mkdtempSync(join(tmpdir(), 'spillway-kept-'))];
  mkdirSync(join(left, 'data'));
  writeFileSync(join(left, 'data', 'file'), 'content');
  const [child, other] = [spawn('sleep', ['60']), spawn('sleep', ['60'])];
  const will = new LastWill();
  will.removeFolder(left);
  will.endProcess(child.pid ?? 0);
  expect(existsSync(left) && existsSync(kept)).toBe(true);
  const ended = once(child, 'exit');
  will.execute();
  // Only Linux tells one process of a number from the next.
  if (process.platform === 'linux') expect((await ended)[1]).toBe('SIGKILL');
  await until('the folder is gone', () => !existsSync(left));
  expect(existsSync(kept)).toBe(true);
  expect(other.exitCode ?? other.signalCode).toBeNull();
  for (const one of [child, other]) one.kill();
  const last = new LastWill();
  last.removeFolder(kept);
  last.execute();
  await until('the other folder is gone', () => !existsSync(kept));
});
