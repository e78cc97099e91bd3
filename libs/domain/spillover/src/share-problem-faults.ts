import type { Problem } from '#domain/fleet';

import type { PriceCurve } from './price-curve.js';
import type { ConsumerDemand, ProviderRoom, ShareProblem } from './share-problem.js';

/** Rates, capacities and prices beyond this are measuring faults; their squares would leave the range of numbers. */
const VALUE_MAX = 1e12;
const SUM_TOLERANCE = 1e-9;

/** Everything that makes a problem unsolvable; empty for every problem that `solveShares` takes. */
export function shareProblemFaults({ scenarioWeights, consumers, providers }: ShareProblem): readonly Problem[] {
  const total = scenarioWeights.reduce((sum, weight) => sum + weight, 0);
  return [
    ...(Math.abs(total - 1) <= SUM_TOLERANCE && scenarioWeights.every((weight) => weight >= 0) ? [] : [fault('scenarioWeights', 'SCENARIO_WEIGHTS_INVALID', `weights must be at least 0 and sum to 1, not to ${total}`)]),
    ...consumers.flatMap((consumer, index) => consumerFaults(consumer, `consumers[${index}]`, { scenarios: scenarioWeights.length, providers: providers.length })),
    ...providers.flatMap((provider, index) => providerFaults(provider, `providers[${index}]`)),
  ];
}

function consumerFaults({ demand, options }: ConsumerDemand, path: string, count: { readonly scenarios: number; readonly providers: number }): readonly Problem[] {
  const named = new Set(options.map(({ provider }) => provider));
  const least = options.reduce((sum, { shareMin }) => sum + shareMin, 0);
  const most = options.reduce((sum, { shareMax }) => sum + shareMax, 0);
  return [
    ...(demand.length === count.scenarios && demand.every(isAmount) ? [] : [fault(`${path}.demand`, 'DEMAND_INVALID', `give one number from 0 to ${VALUE_MAX} for each of the ${count.scenarios} scenarios`)]),
    ...(options.length > 0 ? [] : [fault(`${path}.options`, 'OPTIONS_EMPTY', 'nobody may serve this consumer; give it a provider, or leave it out')]),
    ...(named.size === options.length ? [] : [fault(`${path}.options`, 'OPTION_REPEATED', 'name each provider once')]),
    ...options.filter(({ provider }) => !Number.isInteger(provider) || provider < 0 || provider >= count.providers).map(({ provider }) => fault(`${path}.options`, 'PROVIDER_UNKNOWN', `there is no provider ${provider}`)),
    ...options.filter(({ distance }) => !isAmount(distance)).map(({ provider, distance }) => fault(`${path}.options[provider ${provider}].distance`, 'DISTANCE_INVALID', `${distance} is no number from 0 to ${VALUE_MAX}`)),
    ...(options.every(({ shareMin, shareMax }) => shareMin >= 0 && shareMin <= shareMax && shareMax <= 1) ? [] : [fault(`${path}.options`, 'SHARE_BOUNDS_INVALID', 'bounds of a share must be 0 ≤ least ≤ most ≤ 1')]),
    ...(options.length === 0 || (least <= 1 + SUM_TOLERANCE && most >= 1 - SUM_TOLERANCE) ? [] : [fault(`${path}.options`, 'SHARE_BOUNDS_INFEASIBLE', `shares between ${least} and ${most} in sum cannot be 1`)]),
  ];
}

function providerFaults({ capacity, backlogRate, curve }: ProviderRoom, path: string): readonly Problem[] {
  return [
    ...(isAmount(capacity) && capacity > 1 / VALUE_MAX ? [] : [fault(`${path}.capacity`, 'CAPACITY_INVALID', `${capacity} is no capacity; leave out providers that take nothing`)]),
    ...(isAmount(backlogRate) ? [] : [fault(`${path}.backlogRate`, 'BACKLOG_INVALID', `${backlogRate} is no number from 0 to ${VALUE_MAX}`)]),
    ...(isConvex(curve) ? [] : [fault(`${path}.curve`, 'PRICE_CURVE_INVALID', 'a price curve begins at utilisation 0, goes on to the right, never falls, and rises beyond its end')]),
  ];
}

function isConvex({ knots, overloadSlope }: PriceCurve): boolean {
  if (knots[0]?.utilisation !== 0 || !isAmount(overloadSlope) || overloadSlope === 0) return false;
  return knots.every(({ utilisation, price }, index) => {
    const before = knots[index - 1];
    return isAmount(price) && isAmount(utilisation) && (before === undefined || (utilisation > before.utilisation && price >= before.price));
  });
}

const isAmount = (value: number): boolean => value >= 0 && value <= VALUE_MAX;
const fault = (path: string, code: string, message: string): Problem => ({ path, code, message });
