import { spawnSync } from 'node:child_process';

import { describe, expect, it } from '@jest/globals';

describe('the demo without real clusters', () => {
  it('tells the same story with simulated members, says so in one sentence, and finds everything as it should be', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/test/demo/demo.js', '--simulated', '--check'], { encoding: 'utf8', timeout: 110_000 });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Real clusters cannot run here .+ simulated members\.\n/);
    expect(stdout).toContain('✔ the answers moved to east-1 and north-1');
    expect(stdout).not.toContain('✖');
  }, 120_000);
});
