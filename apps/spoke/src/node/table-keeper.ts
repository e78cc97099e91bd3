import { FleetError, isFleetError } from '#domain/fleet';
import { buildNftRuleset, nftRulesetProblems, type NftNode, type NftRuleset } from '#domain/nft-ruleset';
import type { RoutingPlan } from '#domain/routing-plan';
import type { Logger } from '#platform';
import type { Clock, Nft } from '#ports';

import type { NodeMetrics } from './node-metrics.js';
import type { OpenNft } from './open-nft.js';

/** What a keeper needs. */
export interface TableKeeperOptions {
  readonly openNft: OpenNft;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: NodeMetrics;
  readonly restoreIntervalMs: number;
  /** Whose tables these are. */
  readonly node: NftNode;
}

/** What the kernel shall hold: a ruleset, no table at all, or nothing that we know of yet. */
type Wanted = { readonly kind: 'unknown' } | { readonly kind: 'none' } | { readonly kind: 'ruleset'; readonly ruleset: NftRuleset };

/**
 * Keeps the kernel's table as the last good plan says. Before the first plan it does nothing. A plan that cannot be
 * applied leaves the one before in force. What somebody else changes is restored at once.
 */
export class TableKeeper {
  readonly #options: TableKeeperOptions;
  readonly #stopped = new AbortController();
  #nft: Nft | undefined;
  #wanted: Wanted = { kind: 'unknown' };
  #problem: string | undefined = 'nftables was not opened yet';
  #restoring: Promise<void> | undefined;
  #isDisturbed = false;
  #rejectedConnections = 0;
  #unsupported = '';

  constructor(options: TableKeeperOptions) {
    this.#options = options;
  }

  /** Why the kernel cannot be reached or did not take the last ruleset; undefined where all is well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The table's counter, as last read by {@link check}. */
  get rejectedConnections(): number {
    return this.#rejectedConnections;
  }

  /** Opens the way to the kernel if it is not open. Throws FleetError NFT_UNAVAILABLE with what is missing. */
  async open(): Promise<Nft> {
    if (this.#nft !== undefined) return this.#nft;
    try {
      const { way, nft } = await this.#options.openNft();
      nft.onForeignChange(() => this.#onForeignChange());
      this.#options.metrics.opened(way);
      this.#options.logger.info({ way }, 'opened nftables');
      this.#nft = nft;
      this.#problem = undefined;
      return nft;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Brings the kernel to a plan and returns when it is in force. An empty plan has no table. */
  async apply(plan: RoutingPlan): Promise<void> {
    const nft = await this.open();
    const wanted: Wanted = plan.frontends.length === 0 && plan.backends.length === 0 ? { kind: 'none' } : { kind: 'ruleset', ruleset: await this.#provenRuleset(nft, plan) };
    const before = this.#wanted;
    // Set first: a foreign change that comes meanwhile must restore the newer one, not the older.
    this.#wanted = wanted;
    try {
      await this.#bringAbout(nft, wanted);
    } catch (error) {
      this.#wanted = before;
      this.#fail(error);
      throw error;
    }
  }

  /** Applies a plan of an earlier process where the kernel has lost its table; where it has one, that stays untouched. */
  async restoreIfLost(plan: RoutingPlan): Promise<boolean> {
    const nft = await this.open();
    if (await nft.exists()) return false;
    await this.apply(plan);
    return true;
  }

  /** Looks at the table without having been told to, and reads its counter. */
  async check(): Promise<void> {
    const nft = this.#nft;
    if (nft === undefined || this.#wanted.kind === 'unknown') return;
    try {
      const isAsWanted = this.#wanted.kind === 'none' ? !(await nft.exists()) : await nft.isIntact();
      if (!isAsWanted && this.#restoring === undefined) this.#onForeignChange();
      this.#rejectedConnections = this.#wanted.kind === 'none' ? 0 : await nft.rejectedConnections();
    } catch (err) {
      this.#options.logger.warn({ err }, 'the table could not be looked at; trying again later');
    }
  }

  /** Stops restoring and closes the way to the kernel. The table stays. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#restoring;
    await this.#nft?.close();
  }

  // The first ruleset leaves remembered clients where an earlier process had them, later ones where the one before had.
  async #provenRuleset(nft: Nft, plan: RoutingPlan): Promise<NftRuleset> {
    const inForce = this.#wanted.kind === 'ruleset' ? { before: this.#wanted.ruleset } : { shareMaps: await nft.shareMaps() };
    const ruleset = buildNftRuleset(plan, { affinity: nft.affinity, node: this.#options.node, ...inForce });
    const [problem] = nftRulesetProblems(ruleset);
    if (problem !== undefined) throw new FleetError('NFT_RULESET_INVALID', 'bug', `${problem.path}: ${problem.message}`);
    return ruleset;
  }

  async #bringAbout(nft: Nft, wanted: Wanted): Promise<void> {
    const { clock, logger, metrics } = this.#options;
    if (wanted.kind === 'ruleset') {
      const { ruleset } = wanted;
      const applied = await nft.apply(ruleset);
      metrics.applied(ruleset, applied, clock.nowMs());
      logger.debug(applied, 'applied the ruleset');
      this.#sayUnsupported(ruleset);
    } else if (wanted.kind === 'none' && (await nft.exists())) {
      await nft.remove();
      logger.info('removed the table: no frontend is planned');
    }
    this.#problem = undefined;
  }

  #sayUnsupported({ unsupported }: NftRuleset): void {
    const listeners = unsupported.map(({ message }) => message);
    if (listeners.join() !== this.#unsupported) this.#options.logger.warn({ listeners }, 'listeners that this node does not carry');
    this.#unsupported = listeners.join();
  }

  #onForeignChange(): void {
    if (this.#wanted.kind === 'unknown' || this.#stopped.signal.aborted) return;
    this.#options.metrics.foreignChange();
    this.#isDisturbed = true;
    this.#restoring ??= this.#restore();
  }

  async #restore(): Promise<void> {
    const { clock, logger, restoreIntervalMs } = this.#options;
    while (this.#isDisturbed && !this.#stopped.signal.aborted) {
      this.#isDisturbed = false;
      try {
        logger.warn('somebody else changed the table; restoring it');
        if (this.#nft !== undefined) await this.#bringAbout(this.#nft, this.#wanted);
      } catch (error) {
        this.#fail(error);
        this.#isDisturbed = true;
      }
      await clock.sleep(restoreIntervalMs, this.#stopped.signal);
    }
    this.#restoring = undefined;
  }

  #fail(error: unknown): void {
    const code = isFleetError(error) ? error.code : 'UNEXPECTED';
    this.#problem = error instanceof Error ? error.message : String(error);
    this.#options.metrics.failed(code);
    this.#options.logger.error({ err: error, code }, 'the kernel does not hold what is wanted');
  }
}

