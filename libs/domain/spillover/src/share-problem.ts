import type { PriceCurve } from './price-curve.js';

/**
 * The split of one backend's work in plain numbers. Consumers, providers and scenarios are numbered; who they are is
 * somebody else's business. Work is in the backend's work unit per second, distances and prices in milliseconds.
 */
export interface ShareProblem {
  /** How likely each scenario is; sums to 1. */
  readonly scenarioWeights: readonly number[];
  readonly consumers: readonly ConsumerDemand[];
  readonly providers: readonly ProviderRoom[];
}

/** A consumer: what it asks for in each scenario, and who may serve it. */
export interface ConsumerDemand {
  /** One value per scenario. */
  readonly demand: readonly number[];
  /** At least one; each provider at most once. */
  readonly options: readonly ProviderOption[];
}

/** A provider that may serve a consumer. */
export interface ProviderOption {
  readonly provider: number;
  /** Round trip, egress, price and tier in milliseconds per unit of work. */
  readonly distance: number;
  /** Bounds of the share, 0..1. Equal bounds pin it. */
  readonly shareMin: number;
  readonly shareMax: number;
}

/** A provider: how much it takes, what waits there already, and what a unit of work costs as it fills up. */
export interface ProviderRoom {
  /** Above 0. */
  readonly capacity: number;
  /** Work that waits there now, spread over the time in which the shares act. */
  readonly backlogRate: number;
  readonly curve: PriceCurve;
}

/** Shares of one consumer, in the order of its options; they sum to 1. */
export type ConsumerShares = readonly number[];
