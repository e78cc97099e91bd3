import { describe, expect, it } from '@jest/globals';

import { DEFAULT_GATEWAY_PORT_RANGE, parseGatewayPortRange } from './index.js';

describe('parseGatewayPortRange', () => {
  it.each(['20000-29999', '1024-1024', ' 61000-65535 '])('%s may be the range', (text) => {
    expect(parseGatewayPortRange(text)).toMatchObject({ quarantineMs: 86_400_000 });
  });

  it('the default is a range that may be configured', () => {
    const { first, last } = DEFAULT_GATEWAY_PORT_RANGE;
    expect(parseGatewayPortRange(`${first}-${last}`)).toEqual(DEFAULT_GATEWAY_PORT_RANGE);
  });

  it.each([
    { text: '', want: 'give the first and the last port' },
    { text: '20000', want: 'give the first and the last port' },
    { text: '20010-20000', want: 'give the first and the last port' },
    { text: '61000-70000', want: 'give the first and the last port' },
    { text: '80-2000', want: 'well-known ports' },
    { text: '20000-30000', want: 'NodePorts' },
    { text: '32767-32768', want: 'NodePorts' },
    { text: '60999-61000', want: 'ephemeral ports' },
  ])('$text may not: $want', ({ text, want }) => {
    expect(parseGatewayPortRange(text)).toContain(want);
  });
});
