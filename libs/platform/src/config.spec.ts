import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';

import { ConfigError, durationMsSchema, flagSchema, loadConfig, portSchema } from './index.js';

const Schema = z.object({ PORT: portSchema.default(8080), WAIT_MS: durationMsSchema, QUIET: flagSchema.default(false) });

describe('configuration', () => {
  it('is total and frozen, with defaults for what is not set or empty', () => {
    const config = loadConfig(Schema, { WAIT_MS: '250', PORT: '', UNRELATED: 'x' });
    expect(config).toEqual({ PORT: 8080, WAIT_MS: 250, QUIET: false });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('reports every problem at once, each with its variable', () => {
    const load = (): unknown => loadConfig(Schema, { PORT: '70000', WAIT_MS: '-1', QUIET: 'maybe' });
    expect(load).toThrow(ConfigError);
    try {
      load();
    } catch (error) {
      expect((error as ConfigError).problems.map((problem) => problem.split(':')[0])).toEqual(['PORT', 'WAIT_MS', 'QUIET']);
    }
  });
});
