import { describe, expect, it } from '@jest/globals';

import { ConfigError } from '#platform';

import { parseRole, startRole } from './role.js';

describe('the role of a spoke process', () => {
  it.each(['controller', 'node', 'dns', 'leave'] as const)('%s is one', (role) => expect(parseRole(['--role', role])).toBe(role));
  it.each([
    { name: 'no role', args: [], want: '--role: say which: controller, node, dns, leave' },
    { name: 'an unknown role', args: ['--role', 'relay'], want: '--role: "relay" is none of controller, node, dns, leave' },
    { name: 'a name that every object has', args: ['--role', 'toString'], want: 'is none of' },
    { name: 'an unknown option', args: ['--rule', 'node'], want: '--rule' },
  ])('$name is refused with what to say instead', ({ args, want }) => {
    expect(() => parseRole(args)).toThrow(ConfigError);
    expect(() => parseRole(args)).toThrow(want);
  });
  it('a controller without its environment says every problem at once', async () => {
    await expect(startRole('controller', { SPILLWAY_XDS_PORT: 'x' })).rejects.toThrow(/SPILLWAY_POD_NAME[^]*KUBERNETES_SERVICE_HOST[^]*SPILLWAY_XDS_PORT/);
  });
});
