import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { clusterId } from '#domain/fleet';
import type { PlannedBackend, PlannedBackendId, PlannedEndpoint, PlannedProvider } from '#domain/routing-plan';
import { testSeed } from '#testing';

import { apportion, SHARE_MODULUS, splitEvenly, splitUnits, type WeightedPart } from './split-units.js';

const endpoint = (address: string, state: PlannedEndpoint['state'] = 'ready'): PlannedEndpoint => ({ address, port: 8080, state, zone: '', node: '', hostname: '' });
const provider = (id: string, shareBp: number, endpoints: readonly PlannedEndpoint[]): PlannedProvider => ({ clusterId: clusterId(id), locality: { region: '', zone: '' }, path: 'direct', shareBp, endpoints });
const backend = (...providers: readonly PlannedProvider[]): PlannedBackend => ({ id: 'composite:ai/model/80/TCP' as PlannedBackendId, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers });
const CHOICE = { isCarried: () => true, preferred: (endpoints: readonly PlannedEndpoint[]) => endpoints };
const percents = (parts: readonly WeightedPart[]): Record<string, number> =>
  Object.fromEntries(splitUnits(parts, CHOICE).flatMap((part) => splitEvenly(part.endpoints, part.units)).map(({ address, units }) => [address, Number(((100 * units) / SHARE_MODULUS).toFixed(4))]));

const EAST = provider('east-1', 7_000, [endpoint('10.1.0.5'), endpoint('10.1.0.6')]);
const WEST = provider('west-1', 3_000, [endpoint('10.2.0.5')]);

describe('splitUnits', () => {
  it.each([
    { name: 'shares split over clusters and evenly over their endpoints', parts: [{ weight: 1, backend: backend(EAST, WEST) }], want: { '10.1.0.5': 35, '10.1.0.6': 35, '10.2.0.5': 30 } },
    { name: 'a refused weight takes exactly its part', parts: [{ weight: 20, backend: backend(EAST, WEST) }, { weight: 80, backend: undefined }], want: { '10.1.0.5': 7, '10.1.0.6': 7, '10.2.0.5': 6 } },
    { name: 'a backend that nobody can serve is refused, not handed to the other', parts: [{ weight: 1, backend: backend(EAST) }, { weight: 1, backend: backend() }], want: { '10.1.0.5': 25, '10.1.0.6': 25 } },
    { name: 'a cluster without share gets nothing although it has endpoints', parts: [{ weight: 1, backend: backend(provider('east-1', 10_000, [endpoint('10.1.0.5')]), provider('west-1', 0, [endpoint('10.2.0.5')])) }], want: { '10.1.0.5': 100 } },
    { name: 'shares of 0 everywhere refuse everything', parts: [{ weight: 1, backend: backend(provider('east-1', 0, [endpoint('10.1.0.5')])) }], want: {} },
    { name: 'a cluster without usable endpoint passes its share to the others of its backend', parts: [{ weight: 1, backend: backend(provider('east-1', 7_000, [endpoint('10.1.0.5', 'not-ready')]), WEST) }], want: { '10.2.0.5': 100 } },
    { name: 'no weight at all refuses everything', parts: [{ weight: 0, backend: undefined }], want: {} },
    { name: 'a weight of one in a million still reaches its endpoint', parts: [{ weight: 999_999, backend: backend(EAST) }, { weight: 1, backend: backend(WEST) }], want: { '10.1.0.5': 50, '10.1.0.6': 50, '10.2.0.5': 0.0001 } },
  ])('$name', ({ parts, want }) => {
    const got = percents(parts);
    expect(Object.keys(got)).toEqual(Object.keys(want));
    for (const [address, percent] of Object.entries(want)) expect(got[address]).toBeCloseTo(percent, 3);
  });
});

describe('apportion', () => {
  const seed = testSeed();
  it(`splits exactly, and nobody is off by a whole unit (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: SHARE_MODULUS }), fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 17 }), (units, weights) => {
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const got = apportion(units, weights);
        expect(got.reduce((sum, part) => sum + part, 0)).toBe(total === 0 ? 0 : units);
        got.forEach((part, index) => {
          const weight = weights[index] ?? 0;
          if (weight === 0) expect(part).toBe(0);
          else expect(Math.abs(part - (units * weight) / total)).toBeLessThan(1);
        });
      }),
      { seed },
    );
  });
});
