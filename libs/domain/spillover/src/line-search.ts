import { priceAt, slopeAt, type CompiledCurve } from './price-curve.js';
import type { ShareState } from './share-state.js';

/** A pair of options of one consumer: demand goes from the first to the second. */
export interface Move {
  readonly consumer: number;
  readonly from: number;
  readonly to: number;
}

const STEPS_MAX = 40;
/** Where the derivative has come down to this part of what it was, a step is exact enough: the next sweep does the rest. */
const DERIVATIVE_LEFT = 1e-3;

/**
 * How much to move so that the objective falls most: the root of a derivative that never falls and is piecewise linear.
 * Newton within a bracket, until next to nothing of the derivative is left.
 */
export function bestAmount(state: ShareState, move: Move, amountMax: number): number {
  const start = derivativeAt(state, move, 0);
  if (start.value >= 0) return 0;
  if (derivativeAt(state, move, amountMax).value <= 0) return amountMax;
  const enough = -start.value * DERIVATIVE_LEFT;
  let near = 0;
  let far = amountMax;
  let guess = start.slope > 0 ? -start.value / start.slope : amountMax / 2;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    if (!(guess > near && guess < far)) guess = (near + far) / 2;
    const { value, slope } = derivativeAt(state, move, guess);
    if (Math.abs(value) <= enough) return guess;
    if (value < 0) near = guess;
    else far = guess;
    guess = slope > 0 ? guess - value / slope : (near + far) / 2;
  }
  return near;
}

interface Derivative {
  readonly value: number;
  readonly slope: number;
}

function derivativeAt(state: ShareState, { consumer, from, to }: Move, amount: number): Derivative {
  const { scenarioCount, demand, weightedDemand, distance, meanDemand } = state;
  const giver = sideOf(state, from);
  const taker = sideOf(state, to);
  const first = consumer * scenarioCount;
  let value = (meanDemand[consumer] as number) * ((distance[to] as number) - (distance[from] as number));
  let slope = 0;
  for (let m = 0; m < scenarioCount; m += 1) {
    const moved = amount * (demand[first + m] as number);
    const weighted = weightedDemand[first + m] as number;
    const above = (state.utilisation[taker.at + m] as number) + moved / taker.capacity;
    const below = Math.max(0, (state.utilisation[giver.at + m] as number) - moved / giver.capacity);
    value += weighted * (priceAt(taker.curve, above) - priceAt(giver.curve, below));
    slope += weighted * (demand[first + m] as number) * (slopeAt(taker.curve, above) / taker.capacity + slopeAt(giver.curve, below) / giver.capacity);
  }
  return { value, slope };
}

const sideOf = (state: ShareState, option: number): { readonly at: number; readonly capacity: number; readonly curve: CompiledCurve } => {
  const provider = state.optionProvider[option] as number;
  return { at: provider * state.scenarioCount, capacity: state.capacity[provider] as number, curve: state.curves[provider] as CompiledCurve };
};
