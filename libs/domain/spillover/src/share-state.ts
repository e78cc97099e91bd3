import { compileCurve, costAt, priceAt, type CompiledCurve } from './price-curve.js';
import type { ConsumerShares, ShareProblem } from './share-problem.js';

/**
 * A problem laid out flat, with the shares in force and what follows from them: the utilisation and the price of every
 * provider in every scenario. Option k of consumer i is `optionStart[i] + k` everywhere.
 */
export interface ShareState {
  readonly problem: ShareProblem;
  readonly scenarioCount: number;
  readonly curves: readonly CompiledCurve[];
  readonly capacity: Float64Array;
  readonly optionStart: Int32Array;
  readonly optionProvider: Int32Array;
  readonly distance: Float64Array;
  readonly shareMin: Float64Array;
  readonly shareMax: Float64Array;
  /** Mean demand of each consumer. */
  readonly meanDemand: Float64Array;
  /** Demand, and demand times the scenario's weight: consumer by consumer, one value per scenario. */
  readonly demand: Float64Array;
  readonly weightedDemand: Float64Array;
  readonly share: Float64Array;
  /** Utilisation and price: provider by provider, one value per scenario. */
  readonly utilisation: Float64Array;
  readonly price: Float64Array;
}

/** Lays a problem out. `start` need not be feasible: it is brought within the bounds first. */
export function layOut(problem: ShareProblem, start: readonly (ConsumerShares | undefined)[]): ShareState {
  const { consumers, providers, scenarioWeights } = problem;
  const scenarioCount = scenarioWeights.length;
  const options = consumers.flatMap((consumer) => consumer.options);
  const optionStart = new Int32Array(consumers.length + 1);
  consumers.forEach((consumer, index) => (optionStart[index + 1] = (optionStart[index] as number) + consumer.options.length));
  const demand = Float64Array.from(consumers.flatMap((consumer) => consumer.demand));
  const weightedDemand = demand.map((value, index) => value * (scenarioWeights[index % scenarioCount] ?? 0));
  const state: ShareState = {
    problem,
    scenarioCount,
    curves: providers.map(({ curve }) => compileCurve(curve)),
    capacity: Float64Array.from(providers, ({ capacity }) => capacity),
    optionStart,
    optionProvider: Int32Array.from(options, ({ provider }) => provider),
    distance: Float64Array.from(options, ({ distance }) => distance),
    shareMin: Float64Array.from(options, ({ shareMin }) => shareMin),
    shareMax: Float64Array.from(options, ({ shareMax }) => shareMax),
    meanDemand: Float64Array.from(consumers, (_, index) => sumOf(weightedDemand, index * scenarioCount, scenarioCount)),
    demand,
    weightedDemand,
    share: new Float64Array(options.length),
    utilisation: new Float64Array(providers.length * scenarioCount),
    price: new Float64Array(providers.length * scenarioCount),
  };
  consumers.forEach((_, consumer) => placeWithinBounds(state, consumer, start[consumer]));
  refreshUtilisation(state);
  return state;
}

/** The objective: what the mean unit of demand costs by distance, and what every provider costs by its utilisation. */
export function objectiveOf(state: ShareState): number {
  return distanceCost(state) + utilisationCost(state);
}

function distanceCost({ optionStart, distance, share, meanDemand }: ShareState): number {
  let cost = 0;
  for (let consumer = 0; consumer < meanDemand.length; consumer += 1) {
    let mean = 0;
    for (let k = optionStart[consumer] as number; k < (optionStart[consumer + 1] as number); k += 1) mean += (share[k] as number) * (distance[k] as number);
    cost += mean * (meanDemand[consumer] as number);
  }
  return cost;
}

function utilisationCost({ problem, curves, capacity, utilisation, scenarioCount }: ShareState): number {
  let cost = 0;
  curves.forEach((curve, provider) => {
    let expected = 0;
    for (let m = 0; m < scenarioCount; m += 1) expected += (problem.scenarioWeights[m] ?? 0) * costAt(curve, utilisation[provider * scenarioCount + m] as number);
    cost += expected * (capacity[provider] as number);
  });
  return cost;
}

/** Distance plus the price that the consumer's own demand meets at the option's provider, on average when it comes. */
export function marginalCost(state: ShareState, consumer: number, option: number): number {
  const { scenarioCount, weightedDemand, price, optionProvider } = state;
  const mean = state.meanDemand[consumer] as number;
  if (mean === 0) return state.distance[option] as number;
  const from = consumer * scenarioCount;
  const at = (optionProvider[option] as number) * scenarioCount;
  let met = 0;
  for (let m = 0; m < scenarioCount; m += 1) met += (weightedDemand[from + m] as number) * (price[at + m] as number);
  return (state.distance[option] as number) + met / mean;
}

/** Moves a part of a consumer's demand, and brings the prices of the two providers up to date. */
export function moveShare(state: ShareState, consumer: number, { from, to, amount }: { readonly from: number; readonly to: number; readonly amount: number }): void {
  state.share[from] = (state.share[from] as number) - amount;
  state.share[to] = (state.share[to] as number) + amount;
  addLoad(state, consumer, from, -amount);
  addLoad(state, consumer, to, amount);
}

function addLoad({ scenarioCount, demand, utilisation, price, capacity, curves, optionProvider }: ShareState, consumer: number, option: number, amount: number): void {
  const provider = optionProvider[option] as number;
  const curve = curves[provider] as CompiledCurve;
  const scale = amount / (capacity[provider] as number);
  const at = provider * scenarioCount;
  const from = consumer * scenarioCount;
  for (let m = 0; m < scenarioCount; m += 1) {
    // Rounding must not take a provider below nothing at all.
    const now = Math.max(0, (utilisation[at + m] as number) + scale * (demand[from + m] as number));
    utilisation[at + m] = now;
    price[at + m] = priceAt(curve, now);
  }
}

/** Computes utilisations and prices from the shares: what moves have added up, without their rounding. */
export function refreshUtilisation(state: ShareState): void {
  const { problem, scenarioCount, optionStart, optionProvider, share, demand, utilisation, price, capacity, curves } = state;
  problem.providers.forEach(({ backlogRate }, provider) => utilisation.fill(backlogRate, provider * scenarioCount, (provider + 1) * scenarioCount));
  for (let consumer = 0; consumer < problem.consumers.length; consumer += 1) {
    for (let k = optionStart[consumer] as number; k < (optionStart[consumer + 1] as number); k += 1) addDemand(consumer, (optionProvider[k] as number) * scenarioCount, share[k] as number);
  }
  for (let index = 0; index < utilisation.length; index += 1) {
    const provider = Math.floor(index / scenarioCount);
    utilisation[index] = (utilisation[index] as number) / (capacity[provider] as number);
    price[index] = priceAt(curves[provider] as CompiledCurve, utilisation[index] as number);
  }

  function addDemand(consumer: number, at: number, part: number): void {
    if (part === 0) return;
    for (let m = 0; m < scenarioCount; m += 1) utilisation[at + m] = (utilisation[at + m] as number) + part * (demand[consumer * scenarioCount + m] as number);
  }
}

// What the start says, cut to the bounds; what is then missing goes to the nearest options that have room.
function placeWithinBounds({ optionStart, share, shareMin, shareMax, distance }: ShareState, consumer: number, start: ConsumerShares | undefined): void {
  const first = optionStart[consumer] as number;
  const end = optionStart[consumer + 1] as number;
  let left = 1;
  for (let k = first; k < end; k += 1) {
    share[k] = shareMin[k] as number;
    left -= share[k] as number;
  }
  const wanted = start?.slice(0, end - first).map((value, index) => Math.max(0, value - (shareMin[first + index] as number))) ?? [];
  const total = wanted.reduce((sum, value) => sum + value, 0);
  const spare = left;
  if (total > 0) wanted.forEach((value, index) => (left -= give(first + index, (spare * value) / total)));
  const nearest = Array.from({ length: end - first }, (_, index) => first + index).sort((a, b) => (distance[a] as number) - (distance[b] as number) || a - b);
  for (const k of nearest) left -= give(k, left);

  function give(option: number, amount: number): number {
    const given = Math.max(0, Math.min(amount, left, (shareMax[option] as number) - (share[option] as number)));
    share[option] = (share[option] as number) + given;
    return given;
  }
}

function sumOf(values: Float64Array, from: number, count: number): number {
  let sum = 0;
  for (let index = from; index < from + count; index += 1) sum += values[index] as number;
  return sum;
}
