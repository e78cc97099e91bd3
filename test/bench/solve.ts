/**
 * How long the share solver takes: one backend of n consumers × n providers, 32 demand scenarios, a gap of half a per cent.
 * Cold starts from the nearest providers; warm from the shares of before, after every consumer's demand moved by up to 10 %.
 * All consumers may use all providers, which is far denser than a fleet is.
 *
 *   npm run bench:solve [-- --seed 7]
 */
import { parseArgs } from 'node:util';

import { solveShares, type ConsumerShares, type PriceCurve, type ShareProblem, type SolveLimits } from '#domain/spillover';

import { renderTable } from './render-table.js';

const SIZES = [10, 50, 100] as const;
const LOADS = [0.6, 0.9, 1.2] as const;
const SCENARIOS = 32;
const COLD_RUNS = 3;
const WARM_RUNS = 30;
const DISTANCE_MAX_MS = 285;
const LIMITS: SolveLimits = { gapWanted: (_, objective) => 0.005 * objective, sweepsMax: 500 };

// The ramp of §2.11 with threshold 0.8, then to 1.1 × the farthest distance at 1, then a unit of overload for 5 s.
const CURVE: PriceCurve = {
  knots: [{ utilisation: 0, price: 0 }, { utilisation: 0.8, price: 1.6 }, { utilisation: 0.95, price: 0.55 * DISTANCE_MAX_MS }, { utilisation: 1, price: 1.1 * DISTANCE_MAX_MS }],
  overloadSlope: 5_000,
};

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Clusters on a plane of 200 ms; one in ten seconds is a burst of up to four times. */
function makeProblem(size: number, load: number, random: () => number): ShareProblem {
  const places = Array.from({ length: size }, () => ({ x: random() * 100, y: random() * 100 }));
  const bases = places.map(() => 20 + 200 * random() * random());
  const total = bases.reduce((sum, base) => sum + base, 0);
  const weights = places.map(() => 0.3 + random());
  const weightSum = weights.reduce((sum, weight) => sum + weight, 0);
  return {
    scenarioWeights: Array.from({ length: SCENARIOS }, () => 1 / SCENARIOS),
    consumers: places.map((here, consumer) => ({
      demand: Array.from({ length: SCENARIOS }, () => (bases[consumer] ?? 0) * (random() < 0.1 ? 1 + 3 * random() : 0.5 + random())),
      options: places.map((there, provider) => ({ provider, distance: provider === consumer ? 0.5 : 2 + 2 * Math.hypot(here.x - there.x, here.y - there.y), shareMin: 0, shareMax: 1 })),
    })),
    providers: weights.map((weight) => ({ capacity: ((weight / weightSum) * total) / load, backlogRate: 0, curve: CURVE })),
  };
}

const moved = (problem: ShareProblem, random: () => number): ShareProblem => ({
  ...problem,
  consumers: problem.consumers.map((consumer) => {
    const factor = 0.9 + 0.2 * random();
    return { ...consumer, demand: consumer.demand.map((value) => value * factor) };
  }),
});

function timed<T>(run: () => T): { readonly value: T; readonly ms: number } {
  const startMs = performance.now();
  return { value: run(), ms: performance.now() - startMs };
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function measure(size: number, load: number, seed: number): readonly string[] {
  const random = randomOf(seed);
  const problem = makeProblem(size, load, random);
  const cold = Array.from({ length: COLD_RUNS }, () => timed(() => solveShares(problem, [], LIMITS)));
  let shares: readonly ConsumerShares[] = cold[0]?.value.shares ?? [];
  const warm = Array.from({ length: WARM_RUNS }, () => {
    const next = moved(problem, random);
    const run = timed(() => solveShares(next, shares, LIMITS));
    shares = run.value.shares;
    return run;
  });
  const worstGap = Math.max(...warm.map(({ value }) => value.gap / value.objective));
  return [`${size} × ${size}`, String(load), median(cold.map(({ ms }) => ms)).toFixed(1), median(warm.map(({ ms }) => ms)).toFixed(2), Math.max(...warm.map(({ ms }) => ms)).toFixed(2), median(warm.map(({ value }) => value.sweeps)).toFixed(0), `${(100 * worstGap).toFixed(2)} %`];
}

const { values } = parseArgs({ options: { seed: { type: 'string', default: '7' } } });
const seed = Number(values.seed);
process.stdout.write(`share solver, ${SCENARIOS} scenarios, seed ${seed}\n\n`);
const rows = SIZES.flatMap((size) => LOADS.map((load) => measure(size, load, seed)));
process.stdout.write(`${renderTable(['size', 'load', 'cold p50 ms', 'warm p50 ms', 'warm max ms', 'warm sweeps', 'worst gap'], rows)}\n`);
