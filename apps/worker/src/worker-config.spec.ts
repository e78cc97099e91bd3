import { describe, expect, it } from '@jest/globals';

import type { ConfigError } from '#platform';

import { loadWorkerConfig } from './worker-config.js';

const GOOD = { SPILLWAY_DATABASE_URL: 'postgres://u:p@db/spillway', SPILLWAY_PUBLIC_URL: 'https://hub.example:8443/', SPILLWAY_ENCRYPTION_KEY: 'key' };

describe('loadWorkerConfig', () => {
  it('needs three variables, and has a default for the rest', () => {
    const config = loadWorkerConfig(GOOD);
    expect(config).toMatchObject({ publicUrl: 'https://hub.example:8443', ops: { host: '0.0.0.0', port: 9092 }, queue: { kind: 'postgres' }, allowLocalClusters: false, staleAfterMs: 300_000 });
    expect(config.spoke.image).toMatch(/^ghcr\.io\/spillway-dev\/spoke:\d+\.\d+\.\d+$/);
  });
  it('keeps jobs in Redis where there is one', () => {
    const config = loadWorkerConfig({ ...GOOD, SPILLWAY_REDIS_URL: 'redis://redis:6379' });
    expect([config.queue.kind, config.queue.url.reveal()]).toEqual(['redis', 'redis://redis:6379']);
  });
  it('tells every problem at once', () => {
    let problems: readonly string[] = [];
    try {
      loadWorkerConfig({ SPILLWAY_DATABASE_URL: 'mysql://x', SPILLWAY_PUBLIC_URL: 'http://hub', SPILLWAY_OPS_PORT: '70000' });
    } catch (error) {
      problems = (error as ConfigError).problems;
    }
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(['SPILLWAY_DATABASE_URL', 'SPILLWAY_PUBLIC_URL', 'SPILLWAY_OPS_PORT', 'SPILLWAY_ENCRYPTION_KEY']);
  });
  it('shows no secret when it is printed', () => {
    expect(JSON.stringify(loadWorkerConfig({ ...GOOD, SPILLWAY_ENCRYPTION_KEY: 'k3y' }))).not.toMatch(/k3y|u:p@/);
  });
});
