import { isDeepStrictEqual } from 'node:util';

import type { MemberBackend, MemberReach, Problem } from '#domain/fleet';
import { memberReach, type NodeAgents, type NodeObject } from '#domain/routing-plan';
import type { Logger } from '#platform';

import { memoEqual, memoLast } from '../plan/memo-last.js';
import { PartsFitter, type ReportableParts } from './reportable-parts.js';
import { fitReach, type ReportableReach } from './reportable-reach.js';

/** What an {@link Offer} needs. */
export interface OfferParts {
  readonly logger: Logger;
  /** Told how many things cannot be offered, whenever that is looked at. */
  readonly onUnfit: (count: number) => void;
}

/** What this cluster may tell the hub of itself: fitted to the hub's limits, each thing that is left out told once. */
export class Offer {
  readonly #fitter = new PartsFitter();
  readonly #fitParts = memoLast((parts: readonly MemberBackend[]): ReportableParts => this.#told(this.#fitter.fit(parts), 'parts'));
  readonly #agents = memoEqual<NodeAgents>(isDeepStrictEqual);
  readonly #keepReach = memoEqual<MemberReach>(isDeepStrictEqual);
  readonly #fitReach = memoLast((nodes: readonly NodeObject[], agents: NodeAgents): ReportableReach => this.#told(fitReach(memberReach(nodes, agents)), 'reach'));
  readonly #unfit = new Map<string, readonly Problem[]>();

  constructor(private readonly parts: OfferParts) {}

  /** Backends as they may be reported. */
  backends(parts: readonly MemberBackend[]): readonly MemberBackend[] {
    return this.#fitParts(parts).backends;
  }

  /** How others reach the cluster, as it may be reported; the same object while it is the same. */
  reach(nodes: readonly NodeObject[], agents: NodeAgents): MemberReach {
    return this.#keepReach(this.#fitReach(nodes, this.#agents(agents)).reach);
  }

  #told<T extends { readonly problems: readonly Problem[] }>(fitted: T, what: string): T {
    const [first] = fitted.problems;
    const before = this.#unfit.get(what)?.[0];
    this.#unfit.set(what, fitted.problems);
    if (first !== undefined && first.path !== before?.path) this.parts.logger.warn({ problems: fitted.problems.slice(0, 5), count: fitted.problems.length }, 'not everything can be offered to other clusters');
    this.parts.onUnfit([...this.#unfit.values()].reduce((sum, problems) => sum + problems.length, 0));
    return fitted;
  }
}
