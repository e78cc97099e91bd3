import type { XdsSnapshot } from '#domain/xds-snapshot';
import type { Clock } from '#ports';

import { EMPTY_STATE, snapshotOf, type ClientState } from './client-state.js';

/** A state to apply, and how to tell the server what became of it. */
export interface Offer {
  readonly state: ClientState;
  /** Told once; undefined is success. */
  readonly answer: (rejection: string | undefined) => void;
}

/** What an applier needs. */
export interface ApplierOptions {
  readonly onUpdate: (snapshot: XdsSnapshot) => Promise<void>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly delayMs: (failures: number) => number;
}

/**
 * Applies states one at a time, always the newest. A state that failed is tried again until it works or a newer one
 * comes, whether the server is there or not.
 */
export class ClientApplier {
  readonly #options: ApplierOptions;
  #accepted: ClientState = EMPTY_STATE;
  #hasApplied = false;
  #lastRejection: string | undefined;
  #next: { state: ClientState; answers: Offer['answer'][] } | undefined;
  #working: Promise<void> | undefined;
  #newer = new AbortController();
  #onRecovered: () => void = () => undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  /** The last state that was applied. */
  get accepted(): ClientState {
    return this.#accepted;
  }

  get hasApplied(): boolean {
    return this.#hasApplied;
  }

  get lastRejection(): string | undefined {
    return this.#lastRejection;
  }

  /** Names who is told when a rejected state could be applied after all. */
  onRecovered(callback: () => void): void {
    this.#onRecovered = callback;
  }

  /** Queues a state in place of any that waits; the answers of both are given together. */
  offer({ state, answer }: Offer): void {
    this.#next = { state, answers: [...(this.#next?.answers ?? []), answer] };
    this.#newer.abort();
    this.#working ??= this.#work();
  }

  /** Resolves when nothing is being applied. */
  async settled(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    for (let failures = 0; this.#next !== undefined && !this.#options.signal.aborted; ) {
      const { state, answers } = this.#next;
      this.#next = undefined;
      this.#newer = new AbortController();
      const wasRejected = this.#lastRejection !== undefined;
      this.#lastRejection = await this.#apply(state);
      for (const answer of answers) answer(this.#lastRejection);
      if (this.#lastRejection === undefined) {
        failures = 0;
        if (wasRejected) this.#onRecovered();
        continue;
      }
      await this.#options.clock.sleep(this.#options.delayMs(failures), AbortSignal.any([this.#newer.signal, this.#options.signal]));
      failures += 1;
      this.#next ??= { state, answers: [] };
    }
    this.#working = undefined;
  }

  async #apply(state: ClientState): Promise<string | undefined> {
    if (this.#isInForce(state)) return this.#accept(state);
    try {
      await this.#options.onUpdate(snapshotOf(state));
      return this.#accept(state);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #isInForce({ clusters, loadAssignments }: ClientState): boolean {
    return this.#hasApplied && this.#lastRejection === undefined && clusters === this.#accepted.clusters && loadAssignments === this.#accepted.loadAssignments;
  }

  #accept(state: ClientState): undefined {
    this.#accepted = state;
    this.#hasApplied = true;
    return undefined;
  }
}
