import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { testSeed } from '#testing';

import type { ConsumerShares, ShareProblem } from './share-problem.js';
import { shareProblemFaults } from './share-problem-faults.js';
import { layOut, objectiveOf } from './share-state.js';
import { solveShares, type ShareSolution } from './solve-shares.js';

const CURVE = { knots: [{ utilisation: 0, price: 0 }, { utilisation: 0.8, price: 2 }, { utilisation: 0.95, price: 150 }, { utilisation: 1, price: 300 }], overloadSlope: 5_000 };
/** Two clusters 60 ms apart with one way each to the other; `demand` per scenario and consumer, all scenarios equally likely. */
const twoClusters = (demand: readonly (readonly number[])[], capacity: readonly number[], over: Partial<ShareProblem['consumers'][number]['options'][number]> = {}): ShareProblem => ({
  scenarioWeights: demand.map(() => 1 / demand.length),
  consumers: capacity.map((_, consumer) => ({
    demand: demand.map((scenario) => scenario[consumer] ?? 0),
    options: capacity.map((__, provider) => ({ provider, distance: provider === consumer ? 1 : 61, shareMin: 0, shareMax: 1, ...(provider === consumer ? {} : over) })),
  })),
  providers: capacity.map((one) => ({ capacity: one, backlogRate: 0, curve: CURVE })),
});

const EXACT = { gapWanted: (_: unknown, objective: number) => 1e-7 * objective, sweepsMax: 1_000 };
const solve = (problem: ShareProblem, start: readonly (ConsumerShares | undefined)[] = []): ShareSolution => solveShares(problem, start, EXACT);
const percents = ({ shares }: ShareSolution): readonly (readonly number[])[] => shares.map((row) => row.map((share) => Number((100 * share).toFixed(1))));

describe('solveShares', () => {
  it.each<{ readonly name: string; readonly problem: ShareProblem; readonly want: readonly (readonly number[])[] }>([
    { name: 'keeps everything at home while home has room', problem: twoClusters([[60, 60]], [100, 100]), want: [[100, 0], [0, 100]] },
    { name: 'sends away only what home cannot take at a price below the distance', problem: twoClusters([[200, 0]], [100, 200]), want: [[43, 57], [0, 100]] },
    { name: 'keeps room at home for a burst that came in one of four patterns', problem: twoClusters([[60, 0], [60, 0], [60, 0], [180, 0]], [100, 300]), want: [[51.1, 48.9], [0, 100]] },
    { name: 'shares an overload that nobody can escape in proportion to capacity', problem: twoClusters([[400, 0]], [100, 100]), want: [[50.2, 49.9], [0, 100]] },
    { name: 'pins a canary', problem: twoClusters([[60, 0]], [100, 100], { shareMin: 0.05, shareMax: 0.05 }), want: [[95, 5], [5, 95]] },
    { name: 'goes where nothing waits when home has a backlog', problem: { ...twoClusters([[60, 0]], [100, 100]), providers: [{ capacity: 100, backlogRate: 90, curve: CURVE }, { capacity: 100, backlogRate: 0, curve: CURVE }] }, want: [[0, 100], [0, 100]] },
  ])('$name', ({ problem, want }) => {
    expect(shareProblemFaults(problem)).toEqual([]);
    const solution = solve(problem);
    expect(solution.isWithinGap).toBe(true);
    expect(percents(solution)).toEqual(want);
  });

  const seed = testSeed();
  const check = (property: fc.IProperty<[ShareProblem]>, numRuns = 300): void => fc.assert(property, { seed, numRuns, endOnFailure: true });
  const isAsGood = (one: ShareSolution, other: ShareSolution, scale = 1): void => {
    expect(Math.abs(one.objective * scale - other.objective)).toBeLessThanOrEqual(one.gap * scale + other.gap + 1e-9 * other.objective);
  };

  it(`shares sum to 1, keep their bounds, and half a per cent of gap is closed within 300 sweeps, for any problem (seed ${seed})`, () => {
    check(
      fc.property(problemArbitrary, (problem) => {
        expect(shareProblemFaults(problem)).toEqual([]);
        const { shares, isWithinGap } = solveShares(problem, [], { gapWanted: (_, objective) => 0.005 * objective, sweepsMax: 300 });
        expect(isWithinGap).toBe(true);
        shares.forEach((row, consumer) => {
          expect(row.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 10);
          row.forEach((share, k) => {
            const option = problem.consumers[consumer]?.options[k];
            expect(share).toBeGreaterThanOrEqual((option?.shareMin ?? 1) - 1e-12);
            expect(share).toBeLessThanOrEqual((option?.shareMax ?? 0) + 1e-12);
          });
        });
      }),
      1_000,
    );
  });

  it(`no other shares beat the certified bound (seed ${seed})`, () => {
    fc.assert(
      fc.property(problemArbitrary, fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }), { minLength: 6, maxLength: 6 }), (problem, other) => {
        const rough = solveShares(problem, [], { gapWanted: (_, objective) => 0.05 * objective, sweepsMax: 3 });
        expect(objectiveOf(layOut(problem, other))).toBeGreaterThanOrEqual(rough.objective - rough.gap - 1e-9 * rough.objective);
      }),
      { seed, numRuns: 300, endOnFailure: true },
    );
  });

  it(`what was in force before never changes how good the result is, and solving again changes nothing (seed ${seed})`, () => {
    fc.assert(
      fc.property(problemArbitrary, fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }), { minLength: 6, maxLength: 6 }), (problem, start) => {
        const cold = solve(problem);
        isAsGood(cold, solve(problem, start));
        const again = solve(problem, cold.shares);
        expect(again.sweeps).toBe(0);
        expect(solve(problem).shares).toEqual(cold.shares);
      }),
      { seed, numRuns: 300, endOnFailure: true },
    );
  });

  it(`the order of consumers and providers does not change how good the result is (P7; seed ${seed})`, () => {
    check(fc.property(problemArbitrary, (problem) => isAsGood(solve(problem), solve(reversed(problem)))));
  });

  it(`demand and capacity in another unit give the same quality (P8; seed ${seed})`, () => {
    check(
      fc.property(problemArbitrary, (problem) => {
        const scaled = {
          ...problem,
          consumers: problem.consumers.map((consumer) => ({ ...consumer, demand: consumer.demand.map((value) => value * 8) })),
          providers: problem.providers.map((provider) => ({ ...provider, capacity: provider.capacity * 8, backlogRate: provider.backlogRate * 8 })),
        };
        isAsGood(solve(problem), solve(scaled), 8);
      }),
    );
  });

  it(`a consumer in two equal halves costs what the whole one does (P12; seed ${seed})`, () => {
    check(
      fc.property(problemArbitrary, (problem) => {
        const [first, ...others] = problem.consumers.map((consumer) => consumer);
        if (first === undefined) return;
        const half = { ...first, demand: first.demand.map((value) => value / 2) };
        isAsGood(solve(problem), solve({ ...problem, consumers: [half, half, ...others] }));
      }),
    );
  });
});

describe('a problem that cannot be solved', () => {
  const good = twoClusters([[60, 60]], [100, 100]);
  const withOption = (over: object): ShareProblem => ({ ...good, consumers: good.consumers.map((consumer) => ({ ...consumer, options: consumer.options.map((option) => ({ ...option, ...over })) })) });
  it.each<{ readonly name: string; readonly problem: ShareProblem; readonly code: string }>([
    { name: 'weights that do not sum to 1', problem: { ...good, scenarioWeights: [0.9] }, code: 'SCENARIO_WEIGHTS_INVALID' },
    { name: 'a weight that is no number', problem: { ...good, scenarioWeights: [Number.NaN] }, code: 'SCENARIO_WEIGHTS_INVALID' },
    { name: 'demand below nothing', problem: twoClusters([[-1, 0]], [1, 1]), code: 'DEMAND_INVALID' },
    { name: 'demand without end', problem: twoClusters([[Infinity, 0]], [1, 1]), code: 'DEMAND_INVALID' },
    { name: 'a scenario too many', problem: { ...good, scenarioWeights: [0.5, 0.5] }, code: 'DEMAND_INVALID' },
    { name: 'nobody who may serve', problem: { ...good, consumers: [{ demand: [1], options: [] }] }, code: 'OPTIONS_EMPTY' },
    { name: 'a provider that is not there', problem: withOption({ provider: 7 }), code: 'PROVIDER_UNKNOWN' },
    { name: 'one provider twice', problem: withOption({ provider: 0 }), code: 'OPTION_REPEATED' },
    { name: 'a distance that is no number', problem: withOption({ distance: Number.NaN }), code: 'DISTANCE_INVALID' },
    { name: 'a least share above the most', problem: withOption({ shareMin: 0.6, shareMax: 0.4 }), code: 'SHARE_BOUNDS_INVALID' },
    { name: 'pins that sum to more than 1', problem: withOption({ shareMin: 0.6 }), code: 'SHARE_BOUNDS_INFEASIBLE' },
    { name: 'a provider without capacity', problem: twoClusters([[1, 1]], [0, 1]), code: 'CAPACITY_INVALID' },
    { name: 'a capacity that a measuring fault made', problem: twoClusters([[1, 1]], [1e300, 1]), code: 'CAPACITY_INVALID' },
    { name: 'a capacity so small that it is none', problem: twoClusters([[1, 1]], [1e-300, 1]), code: 'CAPACITY_INVALID' },
    { name: 'a price that falls', problem: { ...good, providers: good.providers.map((provider) => ({ ...provider, curve: { knots: [{ utilisation: 0, price: 2 }, { utilisation: 1, price: 1 }], overloadSlope: 1 } })) }, code: 'PRICE_CURVE_INVALID' },
  ])('$name', ({ problem, code }) => {
    expect(shareProblemFaults(problem).map((fault) => fault.code)).toContain(code);
  });
});

const amount = fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 6, arbitrary: fc.double({ min: 0.01, max: 500, noNaN: true }) });
const curve = fc.tuple(fc.double({ min: 0.3, max: 0.9, noNaN: true }), fc.double({ min: 1, max: 500, noNaN: true })).map(([theta, pay]) => ({
  knots: [{ utilisation: 0, price: 0 }, { utilisation: theta, price: 2 * theta }, { utilisation: 0.95, price: 2 * theta + pay }, { utilisation: 1, price: 2 * theta + 2 * pay }],
  overloadSlope: 5_000,
}));
/** Up to six consumers, six providers and eight scenarios, some pairs forbidden, some bounded. */
const problemArbitrary: fc.Arbitrary<ShareProblem> = fc
  .record({ consumers: fc.integer({ min: 1, max: 6 }), providers: fc.integer({ min: 1, max: 6 }), scenarios: fc.integer({ min: 1, max: 8 }) })
  .chain((size) => {
    const option = fc.record({ distance: fc.double({ min: 0, max: 300, noNaN: true }), isAllowed: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }), shareMin: fc.constantFrom(0, 0, 0, 0.05), shareMax: fc.constantFrom(1, 1, 1, 0.5) });
    const many = <T>(arbitrary: fc.Arbitrary<T>, count: number): fc.Arbitrary<T[]> => fc.array(arbitrary, { minLength: count, maxLength: count });
    return fc.record({
      scenarioWeights: fc.constant(Array.from({ length: size.scenarios }, () => 1 / size.scenarios)),
      consumers: many(
        fc.record({ demand: many(amount, size.scenarios), options: many(option, size.providers) }).map(({ demand, options }) => ({
          demand,
          // The last provider may always take everything, so that every problem has an answer.
          options: options.flatMap(({ isAllowed, ...rest }, provider) => (provider === size.providers - 1 ? [{ ...rest, provider, shareMin: 0, shareMax: 1 }] : isAllowed ? [{ ...rest, provider }] : [])),
        })),
        size.consumers,
      ),
      providers: many(fc.record({ capacity: fc.double({ min: 1, max: 500, noNaN: true }), backlogRate: fc.constantFrom(0, 0, 0, 20), curve }), size.providers),
    });
  });

function reversed(problem: ShareProblem): ShareProblem {
  const last = problem.providers.length - 1;
  return {
    ...problem,
    providers: [...problem.providers].reverse(),
    consumers: problem.consumers.map((consumer) => ({ ...consumer, options: consumer.options.map((option) => ({ ...option, provider: last - option.provider })).reverse() })).reverse(),
  };
}
