import { describe, expect, it } from '@jest/globals';

import { endpointAddressFault } from './index.js';

describe('endpointAddressFault', () => {
  it.each(['10.1.0.7', '172.30.0.1', '192.168.1.1', '100.64.0.9', '203.0.113.8', '126.255.255.255', '128.0.0.1', '169.253.255.255', '223.255.255.255', 'fd00:10::7', '2001:db8::1'])('%s may be an endpoint', (address) => {
    expect(endpointAddressFault(address)).toBeUndefined();
  });

  it.each([
    { address: '127.0.0.1', want: 'loopback' },
    { address: '127.255.255.254', want: 'loopback' },
    { address: '0.0.0.0', want: 'an unspecified address' },
    { address: '0.1.2.3', want: 'an unspecified address' },
    { address: '169.254.169.254', want: 'link-local' },
    { address: '224.0.0.1', want: 'multicast' },
    { address: '239.255.255.255', want: 'multicast' },
    { address: '240.0.0.1', want: 'reserved' },
    { address: '255.255.255.255', want: 'reserved' },
    { address: '::', want: 'an unspecified address' },
    { address: '::1', want: 'loopback' },
    { address: '0:0:0:0:0:0:0:1', want: 'loopback' },
    { address: '::ffff:127.0.0.1', want: 'IPv4 in disguise' },
    { address: '::ffff:a9fe:a9fe', want: 'IPv4 in disguise' },
    { address: '::127.0.0.1', want: 'IPv4 in disguise' },
    { address: '64:ff9b::a9fe:a9fe', want: 'IPv4 in disguise' },
    { address: 'fe80::1', want: 'link-local' },
    { address: 'febf::1', want: 'link-local' },
    { address: 'fd00:ec2::254', want: 'link-local' },
    { address: 'ff02::1', want: 'multicast' },
    { address: 'fe80::1%eth0', want: 'no IP address' },
    { address: '2130706433', want: 'no IP address' },
    { address: '0x7f.0.0.1', want: 'no IP address' },
    { address: '010.0.0.1', want: 'no IP address' },
    { address: '10.0.0.1\n', want: 'no IP address' },
    { address: 'localhost', want: 'no IP address' },
    { address: '', want: 'no IP address' },
    { address: 'FD00::1', want: 'must be written as fd00::1' },
    { address: 'fd00:0:0::1', want: 'must be written as fd00::1' },
  ])('$address may not: $want', ({ address, want }) => {
    expect(endpointAddressFault(address)).toContain(want);
  });
});
