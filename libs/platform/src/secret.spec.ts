import { inspect } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { createLogger, Secret } from './index.js';

describe('a secret', () => {
  const secret = new Secret('hunter2');

  it.each([
    { name: 'a template', text: `${String(secret)}` },
    { name: 'JSON', text: JSON.stringify({ secret }) },
    { name: 'inspect', text: inspect({ nested: { secret } }, { depth: 5 }) },
  ])('is not shown by $name', ({ text }) => {
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('hunter2');
  });

  it('is not shown by the logger, nor are the fields that carry one by name', () => {
    const lines: string[] = [];
    const logger = createLogger({ app: 'test', level: 'info' }, { write: (line) => lines.push(line) });
    logger.info({ secret, request: { token: 'hunter2', kubeconfig: 'hunter2' } }, 'message');
    expect(lines.join('')).not.toContain('hunter2');
  });

  it('is revealed only on request', () => expect(secret.reveal()).toBe('hunter2'));
});
