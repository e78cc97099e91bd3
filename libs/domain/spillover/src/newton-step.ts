import { priceAt, slopeAt, type CompiledCurve } from './price-curve.js';
import { marginalCost, refreshUtilisation, type ShareState } from './share-state.js';
import { factorise, solveFactored } from './symmetric-solve.js';

/** A step that would cost more multiplications than this is left to the sweeps. */
const WORK_MAX = 4_000_000;
const LINE_STEPS_MAX = 30;
/** How often shares that the model takes beyond their bounds are fixed there. */
const ROUNDS_MAX = 6;
const SAME_SLOPE = 0.05;
const SAME_UTILISATION = 1e-9;

/**
 * One Newton step over the shares that are free to move, all at once. The objective is piecewise quadratic, so near the
 * best shares one step arrives where sweeps would creep. The Hessian is block-diagonal by provider and coupled only by
 * "the shares of a consumer sum to 1", so the step costs one small inverse per provider and one solve as wide as the
 * consumers that split. Returns whether anything moved; the objective never rises.
 *
 * `ridge` is added to each diagonal element of the Hessian, as a part of it: consumers whose demand moves together make it
 * singular, and the smaller the ridge, the farther the step goes along such directions.
 */
export function newtonStep(state: ShareState, ridge: number): boolean {
  const support = freeOptions(state);
  if (support === undefined) return false;
  const gradient = Float64Array.from(support.options, (k, index) => marginalCost(state, support.consumerOf[index] as number, k) * (state.meanDemand[support.consumerOf[index] as number] as number));
  const direction = feasibleDirection(state, support, { gradient, ridge });
  return direction !== undefined && moveAlong(state, support, direction);
}

/** First and second derivatives of the objective by the free shares. */
interface Model {
  readonly gradient: Float64Array;
  /** By block. */
  readonly hessians: readonly Float64Array[];
}

// Shares that the model takes beyond their bounds are led to the bound exactly, and where utilisation crosses a kink of the
// price, the next round reckons with the mean slope of the way: what it settles on holds across both.
function feasibleDirection(state: ShareState, support: Support, { gradient, ridge }: { readonly gradient: Float64Array; readonly ridge: number }): Float64Array | undefined {
  const isFixed = new Uint8Array(support.options.length);
  const direction = new Float64Array(support.options.length);
  const change = new Float64Array(state.utilisation.length);
  const steepness = new Float64Array(state.utilisation.length);
  updateSteepness(state, change, steepness);
  for (let round = 1; ; round += 1) {
    const hessians = support.blocks.map((block) => hessianBlock(state, block, support, { steepness, ridge }));
    if (!solveModel(support, { gradient, hessians }, isFixed, direction)) return undefined;
    balance(support, isFixed, direction);
    // The last round's shares may still lead beyond bounds: the step then ends at the first of them.
    if (round === ROUNDS_MAX) return direction;
    const fixed = fixBeyondBounds(state, support, isFixed, direction);
    utilisationChange(state, support, direction, change);
    const isSettled = !updateSteepness(state, change, steepness);
    if (fixed === 0 && isSettled) return direction;
  }
}

// What rounding leaves: every consumer's steps must sum to 0, or its shares would drift away from 1.
function balance({ consumerOf, rowOf }: Support, isFixed: Uint8Array, direction: Float64Array): void {
  const excess = new Float64Array(rowOf.size);
  const free = new Float64Array(rowOf.size);
  direction.forEach((step, index) => {
    const row = rowOf.get(consumerOf[index] as number) as number;
    excess[row] = (excess[row] as number) + step;
    free[row] = (free[row] as number) + 1 - (isFixed[index] as number);
  });
  direction.forEach((step, index) => {
    const row = rowOf.get(consumerOf[index] as number) as number;
    if (isFixed[index] !== 1) direction[index] = step - (excess[row] as number) / (free[row] as number);
  });
}

/** Fills in the mean slope of the price along a change of utilisation; says whether any differs much from before. */
function updateSteepness({ utilisation, scenarioCount, curves }: ShareState, change: Float64Array, steepness: Float64Array): boolean {
  let isChanged = false;
  for (let index = 0; index < utilisation.length; index += 1) {
    const curve = curves[Math.floor(index / scenarioCount)] as CompiledCurve;
    const from = utilisation[index] as number;
    const to = Math.max(0, from + (change[index] as number));
    const slope = Math.abs(to - from) < SAME_UTILISATION ? slopeAt(curve, from) : (priceAt(curve, to) - priceAt(curve, from)) / (to - from);
    if (Math.abs(slope - (steepness[index] as number)) > SAME_SLOPE * slope) isChanged = true;
    steepness[index] = slope;
  }
  return isChanged;
}

function utilisationChange({ optionProvider, scenarioCount, capacity, demand }: ShareState, { options, consumerOf }: Support, direction: Float64Array, change: Float64Array): void {
  change.fill(0);
  options.forEach((k, index) => {
    const provider = optionProvider[k] as number;
    const scale = (direction[index] as number) / (capacity[provider] as number);
    const from = (consumerOf[index] as number) * scenarioCount;
    for (let m = 0; m < scenarioCount; m += 1) change[provider * scenarioCount + m] = (change[provider * scenarioCount + m] as number) + scale * (demand[from + m] as number);
  });
}

function fixBeyondBounds({ share, shareMin, shareMax }: ShareState, { options, consumerOf }: Support, isFixed: Uint8Array, direction: Float64Array): number {
  const freeLeft = new Map<number, number>();
  options.forEach((_, index) => freeLeft.set(consumerOf[index] as number, (freeLeft.get(consumerOf[index] as number) ?? 0) + 1 - (isFixed[index] as number)));
  let fixed = 0;
  options.forEach((k, index) => {
    if (isFixed[index] === 1) return;
    const target = (share[k] as number) + (direction[index] as number);
    const bound = target < (shareMin[k] as number) ? (shareMin[k] as number) : target > (shareMax[k] as number) ? (shareMax[k] as number) : target;
    const left = freeLeft.get(consumerOf[index] as number) ?? 0;
    // Somebody must take what the others give up.
    if (bound === target || left < 2) return;
    direction[index] = bound - (share[k] as number);
    isFixed[index] = 1;
    freeLeft.set(consumerOf[index] as number, left - 1);
    fixed += 1;
  });
  return fixed;
}

/** The free options: by provider, and the rows of the consumers that they belong to. */
interface Support {
  readonly options: readonly number[];
  readonly consumerOf: readonly number[];
  readonly rowOf: ReadonlyMap<number, number>;
  /** Indices into `options`, by provider. */
  readonly blocks: readonly (readonly number[])[];
}

function freeOptions({ optionStart, optionProvider, share, shareMin, shareMax, meanDemand }: ShareState): Support | undefined {
  const options: number[] = [];
  const consumerOf: number[] = [];
  const rowOf = new Map<number, number>();
  const blocks = new Map<number, number[]>();
  for (let consumer = 0; consumer < meanDemand.length; consumer += 1) {
    if (meanDemand[consumer] === 0) continue;
    const free: number[] = [];
    for (let k = optionStart[consumer] as number; k < (optionStart[consumer + 1] as number); k += 1) {
      if ((share[k] as number) > (shareMin[k] as number) && (share[k] as number) < (shareMax[k] as number)) free.push(k);
    }
    if (free.length < 2) continue;
    rowOf.set(consumer, rowOf.size);
    for (const k of free) {
      const provider = optionProvider[k] as number;
      const block = blocks.get(provider) ?? [];
      blocks.set(provider, block);
      block.push(options.length);
      options.push(k);
      consumerOf.push(consumer);
    }
  }
  const rows = rowOf.size;
  const work = [...blocks.values()].reduce((sum, { length }) => sum + length * length * length, rows * rows * rows);
  return rows === 0 || work > WORK_MAX ? undefined : { options, consumerOf, rowOf, blocks: [...blocks.values()] };
}

/**
 * Solves for the step in which the marginal costs of every consumer's free shares become equal, while what it gives to all
 * its providers still sums to 1. Fixed shares keep the step that they have.
 */
function solveModel({ consumerOf, rowOf, blocks }: Support, { gradient, hessians }: Model, isFixed: Uint8Array, direction: Float64Array): boolean {
  const rows = rowOf.size;
  const coupling = new Float64Array(rows * rows);
  const multipliers = new Float64Array(rows);
  const rowAt = (index: number): number => rowOf.get(consumerOf[index] as number) as number;
  direction.forEach((step, index) => {
    if (isFixed[index] === 1) multipliers[rowAt(index)] = (multipliers[rowAt(index)] as number) + step;
  });
  const parts: FreePart[] = [];
  for (const [at, block] of blocks.entries()) {
    const part = freePart(block, hessians[at] as Float64Array, { gradient, isFixed, direction });
    if (part === undefined) return false;
    parts.push(part);
    part.free.forEach((a, i) => {
      part.free.forEach((b, j) => {
        const value = part.inverse[i * part.free.length + j] as number;
        const cell = rowAt(a) * rows + rowAt(b);
        coupling[cell] = (coupling[cell] as number) + value;
        multipliers[rowAt(a)] = (multipliers[rowAt(a)] as number) - value * (part.pull[j] as number);
      });
    });
  }
  if (!factorise(coupling, rows)) return false;
  solveFactored(coupling, rows, multipliers);
  for (const { free, inverse, pull } of parts) {
    free.forEach((a, i) => {
      let step = 0;
      free.forEach((b, j) => (step -= (inverse[i * free.length + j] as number) * ((pull[j] as number) + (multipliers[rowAt(b)] as number))));
      direction[a] = step;
    });
  }
  return true;
}

/** The free shares at one provider: the inverse of their Hessian, and what pulls at them once the fixed ones have moved. */
interface FreePart {
  readonly free: readonly number[];
  readonly inverse: Float64Array;
  readonly pull: Float64Array;
}

function freePart(block: readonly number[], hessian: Float64Array, { gradient, isFixed, direction }: { readonly gradient: Float64Array; readonly isFixed: Uint8Array; readonly direction: Float64Array }): FreePart | undefined {
  const size = block.length;
  const positions = block.flatMap((index, position) => (isFixed[index] === 1 ? [] : [position]));
  const matrix = new Float64Array(positions.length * positions.length);
  const pull = new Float64Array(positions.length);
  positions.forEach((row, i) => {
    let force = gradient[block[row] as number] as number;
    block.forEach((index, column) => {
      if (isFixed[index] === 1) force += (hessian[row * size + column] as number) * (direction[index] as number);
    });
    pull[i] = force;
    positions.forEach((column, j) => (matrix[i * positions.length + j] = hessian[row * size + column] as number));
  });
  const inverse = inverseOf(matrix, positions.length);
  return inverse === undefined ? undefined : { free: positions.map((position) => block[position] as number), inverse, pull };
}

function hessianBlock(state: ShareState, block: readonly number[], { options, consumerOf }: Support, { steepness: slopes, ridge }: { readonly steepness: Float64Array; readonly ridge: number }): Float64Array {
  const { scenarioCount, demand, weightedDemand, capacity, optionProvider } = state;
  const provider = optionProvider[options[block[0] as number] as number] as number;
  const size = block.length;
  const hessian = new Float64Array(size * size);
  const steepness = new Float64Array(scenarioCount);
  for (let m = 0; m < scenarioCount; m += 1) steepness[m] = (slopes[provider * scenarioCount + m] as number) / (capacity[provider] as number);
  for (let i = 0; i < size; i += 1) {
    const from = (consumerOf[block[i] as number] as number) * scenarioCount;
    for (let j = 0; j <= i; j += 1) {
      const to = (consumerOf[block[j] as number] as number) * scenarioCount;
      let value = 0;
      for (let m = 0; m < scenarioCount; m += 1) value += (weightedDemand[from + m] as number) * (demand[to + m] as number) * (steepness[m] as number);
      hessian[i * size + j] = value;
      hessian[j * size + i] = value;
    }
  }
  for (let i = 0; i < size; i += 1) hessian[i * size + i] = (hessian[i * size + i] as number) * (1 + ridge) + Number.MIN_VALUE;
  return hessian;
}

function inverseOf(matrix: Float64Array, size: number): Float64Array | undefined {
  if (!factorise(matrix, size)) return undefined;
  const inverse = new Float64Array(size * size);
  const column = new Float64Array(size);
  for (let j = 0; j < size; j += 1) {
    column.fill(0);
    column[j] = 1;
    solveFactored(matrix, size, column);
    for (let i = 0; i < size; i += 1) inverse[i * size + j] = column[i] as number;
  }
  return inverse;
}

function moveAlong(state: ShareState, support: Support, direction: Float64Array): boolean {
  const { options, consumerOf } = support;
  const { share, shareMin, shareMax } = state;
  let lengthMax = 1;
  let blocking = -1;
  options.forEach((k, index) => {
    const step = direction[index] as number;
    const room = step < 0 ? ((shareMin[k] as number) - (share[k] as number)) / step : step > 0 ? ((shareMax[k] as number) - (share[k] as number)) / step : Infinity;
    if (room < lengthMax) {
      lengthMax = room;
      blocking = index;
    }
  });
  const change = new Float64Array(state.utilisation.length);
  utilisationChange(state, support, direction, change);
  const distanceChange = options.reduce((sum, k, index) => sum + (direction[index] as number) * (state.distance[k] as number) * (state.meanDemand[consumerOf[index] as number] as number), 0);
  const length = bestLength(state, change, distanceChange, lengthMax);
  if (length <= 0) return false;
  options.forEach((k, index) => (share[k] = Math.min(shareMax[k] as number, Math.max(shareMin[k] as number, (share[k] as number) + length * (direction[index] as number)))));
  const blocked = options[blocking];
  if (length === lengthMax && blocked !== undefined) share[blocked] = (direction[blocking] as number) < 0 ? (shareMin[blocked] as number) : (shareMax[blocked] as number);
  refreshUtilisation(state);
  return true;
}

/** The length that lowers the objective most, at most `lengthMax`; on the near side of it where it is not hit exactly. */
function bestLength(state: ShareState, change: Float64Array, distanceChange: number, lengthMax: number): number {
  const { problem, scenarioCount, capacity, curves, utilisation } = state;
  const derivative = (length: number): number => {
    let value = distanceChange;
    for (let provider = 0; provider < capacity.length; provider += 1) {
      const curve = curves[provider] as CompiledCurve;
      const weight = capacity[provider] as number;
      for (let m = 0; m < scenarioCount; m += 1) {
        const step = change[provider * scenarioCount + m] as number;
        if (step !== 0) value += (problem.scenarioWeights[m] ?? 0) * weight * step * priceAt(curve, Math.max(0, (utilisation[provider * scenarioCount + m] as number) + length * step));
      }
    }
    return value;
  };
  const start = derivative(0);
  if (start >= 0) return 0;
  let far = lengthMax;
  let farValue = derivative(far);
  if (farValue <= 0) return far;
  let near = 0;
  let nearValue = start;
  for (let step = 0; step < LINE_STEPS_MAX && nearValue < start * 0.01; step += 1) {
    // Regula falsi, with a bisection now and then for kinks.
    const guess = step % 3 === 2 ? (near + far) / 2 : near + ((far - near) * nearValue) / (nearValue - farValue);
    const value = derivative(guess);
    if (value <= 0) {
      near = guess;
      nearValue = value;
    } else {
      far = guess;
      farValue = value;
    }
  }
  return near;
}
