import { describe, expect, it } from '@jest/globals';

import type { MemberPart } from '#domain/fleet';
import { aPart, HTTP_PORT } from '#testing';

import { mergeParts } from './merge-parts.js';

const TCP = (port: number) => ({ port, protocol: 'TCP' as const });
const UDP = (port: number) => ({ port, protocol: 'UDP' as const });
const capacity = (unit: 'Requests' | 'Tokens') => ({ capacity: { unit, perEndpoint: 1 } });

describe('mergeParts', () => {
  it.each<{ readonly says: string; readonly parts: readonly MemberPart[]; readonly counted: string; readonly ports: string; readonly conflicts: readonly string[] }>([
    { says: 'parts that agree have no conflict', parts: [aPart('b', 2, 1), aPart('a', 1, 1)], counted: 'a b', ports: '80/TCP:a,b', conflicts: [] },
    { says: 'ports in another order are no conflict', parts: [aPart('a', 1, 1, { ports: [TCP(80), TCP(90)] }), aPart('b', 2, 1, { ports: [TCP(90), TCP(80)] })], counted: 'a b', ports: '80/TCP:a,b 90/TCP:a,b', conflicts: [] },
    { says: 'a port that some expose draws on those only', parts: [aPart('a', 1, 1), aPart('b', 2, 1, { ports: [HTTP_PORT, TCP(90)] })], counted: 'a b', ports: '80/TCP:a,b 90/TCP:b', conflicts: [] },
    { says: 'another traffic class loses to the one seen first', parts: [aPart('a', 2, 1, { trafficClass: 'external' }), aPart('b', 1, 1)], counted: 'b', ports: '80/TCP:b', conflicts: ['trafficClass b>a'] },
    { says: 'another work unit loses to the one seen first', parts: [aPart('a', 1, 1, capacity('Tokens')), aPart('b', 2, 1, capacity('Requests'))], counted: 'a', ports: '80/TCP:a', conflicts: ['workUnit a>b'] },
    { says: 'of two seen at once the lower cluster id wins', parts: [aPart('b', 1, 1, capacity('Requests')), aPart('a', 1, 1, capacity('Tokens'))], counted: 'a', ports: '80/TCP:a', conflicts: ['workUnit a>b'] },
    { says: 'another session affinity is told but still serves', parts: [aPart('a', 1, 1), aPart('b', 2, 1, { sessionAffinity: 'ClientIP' })], counted: 'a b', ports: '80/TCP:a,b', conflicts: ['sessionAffinity a>b'] },
    { says: 'another protocol loses that port only', parts: [aPart('a', 1, 1, { ports: [TCP(53)] }), aPart('b', 2, 1, { ports: [UDP(53), TCP(80)] })], counted: 'a b', ports: '53/TCP:a 80/TCP:b', conflicts: ['portProtocol a>b'] },
    { says: 'both protocols of one number share with either', parts: [aPart('a', 1, 1, { ports: [TCP(53)] }), aPart('b', 2, 1, { ports: [TCP(53), UDP(53)] })], counted: 'a b', ports: '53/TCP:a,b 53/UDP:b', conflicts: [] },
    { says: 'a part that lost its class defines no port', parts: [aPart('a', 1, 1, { ports: [TCP(80)] }), aPart('b', 2, 1, { trafficClass: 'external', ports: [UDP(90)] }), aPart('c', 3, 1, { ports: [TCP(90)] })], counted: 'a c', ports: '80/TCP:a 90/TCP:c', conflicts: ['trafficClass a>b'] },
    { says: 'a part may lose several fields, and every loser is named', parts: [aPart('a', 1, 1), aPart('c', 2, 1, { sessionAffinity: 'Cluster', trafficClass: 'external' }), aPart('b', 3, 1, { sessionAffinity: 'ClientIP' })], counted: 'a b', ports: '80/TCP:a,b', conflicts: ['trafficClass a>c', 'sessionAffinity a>b,c'] },
  ])('$says', ({ parts, counted, ports, conflicts }) => {
    const got = mergeParts(parts);
    expect(got?.parts.map(({ clusterId }) => clusterId).join(' ')).toBe(counted);
    expect(got?.ports.map(({ port, parts: sharing }) => `${port.port}/${port.protocol}:${sharing.map(({ clusterId }) => clusterId).join(',')}`).join(' ')).toBe(ports);
    expect(got?.conflicts.map(({ field, winner, losers }) => `${field} ${winner}>${losers.join(',')}`)).toEqual(conflicts);
    expect(mergeParts([...parts].reverse())).toEqual(got);
  });

  it('says who defined what first, who differs and what follows', () => {
    const messages = [
      ...(mergeParts([aPart('a', 1, 1, capacity('Tokens')), aPart('b', 2, 1, capacity('Requests'))])?.conflicts ?? []),
      ...(mergeParts([aPart('a', 1, 1, { ports: [TCP(53)] }), aPart('b', 2, 1, { ports: [UDP(53)] })])?.conflicts ?? []),
    ].map(({ message }) => message);
    expect(messages).toEqual([
      'Cluster "a" defined work unit Tokens first; "b" says Requests: its endpoints get no share until they agree.',
      'Cluster "a" defined port 53 as TCP first; "b" says UDP: it gets no share of port 53 until they agree.',
    ]);
  });

  it('makes nothing of no parts', () => {
    expect(mergeParts([])).toBeUndefined();
  });
});
