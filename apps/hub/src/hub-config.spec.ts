import { inspect } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { ConfigError } from '#platform';

import { loadHubConfig } from './hub-config.js';

const GOOD = { SPILLWAY_DATABASE_URL: 'postgres://u:secret-password@db/spillway', SPILLWAY_PUBLIC_URL: 'https://hub.example:8443/', SPILLWAY_ENCRYPTION_KEY: 'the-secret-key' };

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadHubConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((problem) => problem.split(':')[0] ?? '');
    throw error;
  }
}

describe('loadHubConfig', () => {
  it('is total with three variables', () => {
    expect(loadHubConfig(GOOD)).toMatchObject({
      publicUrl: 'https://hub.example:8443',
      people: { host: '0.0.0.0', port: 8080 },
      machines: { host: '0.0.0.0', port: 8443 },
      adminToken: undefined,
      allowLocalClusters: false,
      graphiql: false,
      gatewayPorts: { first: 20_000, last: 29_999 },
      logLevel: 'info',
    });
  });

  it('takes another range of gateway ports, and none that takes the traffic of others', () => {
    expect(loadHubConfig({ ...GOOD, SPILLWAY_GATEWAY_PORT_RANGE: '61000-62000' }).gatewayPorts).toMatchObject({ first: 61_000, last: 62_000 });
    expect(problemsOf({ ...GOOD, SPILLWAY_GATEWAY_PORT_RANGE: '30000-31000' })).toEqual(['SPILLWAY_GATEWAY_PORT_RANGE']);
  });

  it('shows no secret when it is printed', () => {
    const config = loadHubConfig({ ...GOOD, SPILLWAY_ADMIN_TOKEN: 'secret-admin-token' });
    expect(inspect(config, { depth: 5 }) + JSON.stringify(config)).not.toMatch(/secret-/);
  });

  it('tells every problem at once', () => {
    expect(problemsOf({ SPILLWAY_PUBLIC_URL: 'http://hub', SPILLWAY_PEOPLE_PORT: '99999', SPILLWAY_ADMIN_TOKEN: 'short', SPILLWAY_GRAPHIQL: 'maybe' }).toSorted()).toEqual([
      'SPILLWAY_ADMIN_TOKEN',
      'SPILLWAY_DATABASE_URL',
      'SPILLWAY_ENCRYPTION_KEY',
      'SPILLWAY_GRAPHIQL',
      'SPILLWAY_PEOPLE_PORT',
      'SPILLWAY_PUBLIC_URL',
    ]);
  });

  it('wants one source of the encryption key, not two', () => {
    expect(problemsOf({ ...GOOD, SPILLWAY_ENCRYPTION_KEY_FILE: '/key' })).toEqual(['SPILLWAY_ENCRYPTION_KEY']);
    expect(loadHubConfig({ ...GOOD, SPILLWAY_ENCRYPTION_KEY: '', SPILLWAY_ENCRYPTION_KEY_FILE: '/key' }).encryptionKey).toEqual({ file: '/key' });
  });
});
