import { bestAmount } from './line-search.js';
import { newtonStep } from './newton-step.js';
import type { ConsumerShares, ShareProblem } from './share-problem.js';
import { layOut, marginalCost, moveShare, objectiveOf, refreshUtilisation, type ShareState } from './share-state.js';

/** When to stop. */
export interface SolveLimits {
  /** The gap that is good enough, in milliseconds times work per second, given the state. */
  readonly gapWanted: (state: ShareState, objective: number) => number;
  readonly sweepsMax: number;
}

/** Shares, and how far from the best they can be at most. */
export interface ShareSolution {
  /** By consumer, in the order of its options. */
  readonly shares: readonly ConsumerShares[];
  readonly objective: number;
  /** The objective of the best shares is at least `objective − gap`. */
  readonly gap: number;
  readonly isWithinGap: boolean;
  readonly sweeps: number;
  /** Utilisations and prices at these shares. */
  readonly state: ShareState;
}

/**
 * Minimises distance plus priced utilisation over all scenarios at once (Scenario-Priced Waterfall). Sweeps go from consumer
 * to consumer and move demand from the used provider that costs most to the one that costs least (pairwise Frank–Wolfe);
 * after each, one Newton step settles all who split at once; until the duality gap certifies the result. Only + − × ÷ and
 * comparisons: the same bits on every machine.
 */
export function solveShares(problem: ShareProblem, start: readonly (ConsumerShares | undefined)[], limits: SolveLimits): ShareSolution {
  const state = layOut(problem, start);
  const work = { marginal: new Float64Array(state.share.length), totalDemand: state.meanDemand.reduce((sum, mean) => sum + mean, 0) };
  let objective = objectiveOf(state);
  let gap = gapOf(state, work.marginal);
  let wanted = limits.gapWanted(state, objective);
  let sweeps = 0;
  while (gap > wanted && sweeps < limits.sweepsMax) {
    const tolerance = work.totalDemand > 0 ? (wanted * TOLERANCE_PART) / work.totalDemand : 0;
    for (let consumer = 0; consumer < problem.consumers.length; consumer += 1) settleConsumer(state, consumer, work.marginal, tolerance);
    refreshUtilisation(state);
    newtonStep(state, RIDGES[sweeps % RIDGES.length] as number);
    objective = objectiveOf(state);
    gap = gapOf(state, work.marginal);
    wanted = limits.gapWanted(state, objective);
    sweeps += 1;
  }
  return { shares: sharesOf(state), objective, gap, isWithinGap: gap <= wanted, sweeps, state };
}

/** A consumer is settled when its own part of the gap is small beside what is wanted of all. */
const TOLERANCE_PART = 0.25;
/** Sweeps find out who is used at all; how much is the Newton step's business. */
const MOVES_PER_VISIT = 2;
/**
 * Ridges of the Newton steps, in turn: a large one is sure of foot where many prices are at a kink, a small one lets consumers
 * swap providers with each other. Of the sets tried, this one closed the gap of 4,000 random problems in the fewest sweeps.
 */
const RIDGES = [1e-2, 1e-4, 1e-8] as const;

function settleConsumer(state: ShareState, consumer: number, marginal: Float64Array, tolerance: number): void {
  if (state.meanDemand[consumer] === 0) return;
  const first = state.optionStart[consumer] as number;
  const end = state.optionStart[consumer + 1] as number;
  if (end - first < 2) return;
  for (let k = first; k < end; k += 1) marginal[k] = marginalCost(state, consumer, k);
  for (let move = 0; move < MOVES_PER_VISIT; move += 1) {
    const { from, to } = steepestPair(state, marginal, first, end);
    if (from < 0 || to < 0 || (marginal[from] as number) - (marginal[to] as number) <= tolerance) return;
    const given = (state.share[from] as number) - (state.shareMin[from] as number);
    const amount = bestAmount(state, { consumer, from, to }, Math.min(given, (state.shareMax[to] as number) - (state.share[to] as number)));
    if (amount <= 0) return;
    moveShare(state, consumer, { from, to, amount });
    // A share that went whole is at its bound exactly, not a rounding error above it.
    if (amount === given) state.share[from] = state.shareMin[from] as number;
    marginal[from] = marginalCost(state, consumer, from);
    marginal[to] = marginalCost(state, consumer, to);
  }
}

function steepestPair({ share, shareMin, shareMax }: ShareState, marginal: Float64Array, first: number, end: number): { readonly from: number; readonly to: number } {
  let from = -1;
  let to = -1;
  for (let k = first; k < end; k += 1) {
    const part = share[k] as number;
    if (part > (shareMin[k] as number) && (from < 0 || (marginal[k] as number) > (marginal[from] as number))) from = k;
    if (part < (shareMax[k] as number) && (to < 0 || (marginal[k] as number) < (marginal[to] as number))) to = k;
  }
  return { from, to };
}

/**
 * The duality gap: what would be saved if every consumer could put all it may move at the prices of now. The objective is
 * convex, so no shares whatever are better than it by more.
 */
function gapOf(state: ShareState, marginal: Float64Array): number {
  let gap = 0;
  for (let consumer = 0; consumer < state.meanDemand.length; consumer += 1) {
    const mean = state.meanDemand[consumer] as number;
    if (mean > 0) gap += mean * consumerGap(state, consumer, marginal);
  }
  return gap;
}

function consumerGap(state: ShareState, consumer: number, marginal: Float64Array): number {
  const first = state.optionStart[consumer] as number;
  const end = state.optionStart[consumer + 1] as number;
  let paid = 0;
  let least = 0;
  let left = 1;
  let isOpen = true;
  let cheapest = first;
  for (let k = first; k < end; k += 1) {
    const cost = marginalCost(state, consumer, k);
    marginal[k] = cost;
    paid += (state.share[k] as number) * cost;
    least += (state.shareMin[k] as number) * cost;
    left -= state.shareMin[k] as number;
    if (cost < (marginal[cheapest] as number)) cheapest = k;
    isOpen = isOpen && (state.shareMax[k] as number) >= 1;
  }
  const best = isOpen ? least + left * (marginal[cheapest] as number) : least + fillCheapest(state, { first, end, left }, marginal);
  return Math.max(0, paid - best);
}

// With upper bounds the best vertex is a greedy filling, cheapest option first.
function fillCheapest({ shareMin, shareMax }: ShareState, { first, end, left }: { readonly first: number; readonly end: number; readonly left: number }, marginal: Float64Array): number {
  const order = Array.from({ length: end - first }, (_, index) => first + index).sort((a, b) => (marginal[a] as number) - (marginal[b] as number) || a - b);
  let rest = left;
  let cost = 0;
  for (const k of order) {
    const taken = Math.max(0, Math.min(rest, (shareMax[k] as number) - (shareMin[k] as number)));
    cost += taken * (marginal[k] as number);
    rest -= taken;
  }
  return cost;
}

const sharesOf = ({ share, optionStart, meanDemand }: ShareState): readonly ConsumerShares[] =>
  Array.from(meanDemand, (_, consumer) => [...share.subarray(optionStart[consumer], optionStart[consumer + 1])]);
