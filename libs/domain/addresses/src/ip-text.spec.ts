import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { containsIp, formatIp, isIp, parseCidr, parseIp } from './index.js';

const canonical = (text: string): string | undefined => {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
};

describe('addresses are read strictly and written canonically (RFC 5952)', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
  ])('%s is %s', (text, want) => {
    expect(canonical(text)).toBe(want);
  });

  it.each(['', '10.0.0', '10.0.0.256', '10.0.0.01', '10.0.0.1.2', '1.2.3.x', ':', ':::', '1::2::3', '12345::', 'g::', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7::8', '::10.0.0.300', ' 10.0.0.1'])('%j is no address', (text) => {
    expect([parseIp(text), isIp(text)]).toEqual([undefined, false]);
  });

  it('every number survives being written and read', () => {
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), (value) => expect([isIp(formatIp({ family: 'IPv6', value })), parseIp(formatIp({ family: 'IPv6', value }))]).toEqual([true, { family: 'IPv6', value }])));
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), (value) => expect([isIp(formatIp({ family: 'IPv4', value })), parseIp(formatIp({ family: 'IPv4', value }))]).toEqual([true, { family: 'IPv4', value }])));
  });
});

describe('ranges', () => {
  it('a CIDR holds its addresses and no others', () => {
    const range = parseCidr('10.96.0.9/24');
    expect(range).toEqual({ family: 'IPv4', first: 0x0a600000n, hostBits: 8 });
    const holds = (text: string): boolean => range !== undefined && containsIp(range, parseIp(text) ?? { family: 'IPv4', value: 0n });
    expect(['10.96.0.0', '10.96.0.255', '10.96.1.0', '::a60:0'].map(holds)).toEqual([true, true, false, false]);
  });

  it.each(['10.96.0.0', '10.96.0.0/33', '10.96.0.0/x', '10.96.0.0/24/1', 'x/24', 'fd00::/129'])('%s is no CIDR', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });
});
