import { describe, expect, it } from '@jest/globals';

import { countReady, type Endpoint } from './index.js';

const endpoint = (address: string, over: Partial<Endpoint> = {}): Endpoint => ({ address, targetPorts: [80], ready: true, serving: true, terminating: false, zone: '', node: '', ...over });

describe('how many endpoints take new connections', () => {
  it.each([
    { name: 'each of one family', endpoints: [endpoint('10.1.0.1'), endpoint('10.1.0.2')], want: 2 },
    { name: 'a pod with an address of each family once', endpoints: [endpoint('10.1.0.1'), endpoint('fd00::1')], want: 1 },
    { name: 'the family with more of them', endpoints: [endpoint('10.1.0.1'), endpoint('fd00::1'), endpoint('fd00::2')], want: 2 },
    { name: 'none that is not ready, nor one on its way out', endpoints: [endpoint('10.1.0.1', { ready: false }), endpoint('10.1.0.2', { terminating: true })], want: 0 },
  ])('$name', ({ endpoints, want }) => {
    expect(countReady(endpoints)).toBe(want);
  });
});
