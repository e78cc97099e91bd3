import { FleetError } from '#domain/fleet';
import { diffNftRuleset, renderNftTables, tablesInForce, type NftFamily, type NftFlow, type NftRuleset, type NftShareMaps, type NftTablesInForce, type NftUnitMap } from '#domain/nft-ruleset';
import { Nft, type NftApplied } from '#ports';

import { runOperations, type TableContent } from './simulated-table.js';

/**
 * A node's kernel in memory. It runs the same operations that the real adapters send, by the kernel's rules, so a wrong
 * difference fails here too. Whoever else shares the machine is played by {@link FakeNft.flushRuleset} and
 * {@link FakeNft.changeFromOutside}.
 */
export class FakeNft extends Nft {
  override readonly affinity = 'timed';
  /** The next apply throws this and changes nothing. */
  failNext: Error | undefined;
  /** What the tables' counter of refused connections says. */
  rejected = 0;
  /** What the tables' counter of connections that fell into a gap says. */
  gaps = 0;
  /** What packets have filled into the tables. */
  counted: readonly NftFlow[] = [];
  isClosed = false;
  readonly #kernel: Kernel;
  #known: NftTablesInForce | undefined;
  #applied: NftRuleset | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(kernel: Kernel = { content: [] }) {
    super();
    this.#kernel = kernel;
  }

  /** Another adapter on the same kernel, as after a restart. */
  reopen(): FakeNft {
    return new FakeNft(this.#kernel);
  }

  /** The tables in the kernel as text; empty where there are none. */
  get table(): string {
    return renderNftTables(this.#kernel.content);
  }

  override async apply(ruleset: NftRuleset): Promise<NftApplied> {
    await Promise.resolve();
    const failure = this.failNext;
    this.failNext = undefined;
    if (failure !== undefined) throw failure;
    const operations = diffNftRuleset(this.#known ?? tablesInForce({ tables: this.#kernel.content }), ruleset);
    try {
      this.#kernel.content = runOperations(this.#kernel.content, operations);
    } catch (cause) {
      this.#known = undefined;
      throw new FleetError('NFT_REJECTED', 'bug', cause instanceof Error ? cause.message : 'refused', { cause });
    }
    this.#known = tablesInForce(ruleset);
    this.#applied = ruleset;
    return { operations: operations.length, durationMs: 0 };
  }

  override async shareMaps(): Promise<NftShareMaps> {
    await Promise.resolve();
    const of = (family: NftFamily): ReadonlyMap<string, NftUnitMap> =>
      new Map((this.#kernel.content.find((table) => table.family === family)?.sets ?? []).flatMap((set) => (set.kind === 'shares' || set.kind === 'owners' ? [[set.name, set]] : [])));
    return { ip: of('ip'), ip6: of('ip6') };
  }

  override async exists(): Promise<boolean> {
    await Promise.resolve();
    return this.table !== '';
  }

  override async isIntact(): Promise<boolean> {
    await Promise.resolve();
    const isIntact = this.#applied !== undefined && this.table === this.#applied.text;
    if (!isIntact) this.#known = undefined;
    return isIntact;
  }

  override onForeignChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  override async rejectedConnections(): Promise<number> {
    await Promise.resolve();
    return this.rejected;
  }

  override async gapConnections(): Promise<number> {
    await Promise.resolve();
    return this.gaps;
  }

  override async flows(): Promise<readonly NftFlow[]> {
    await Promise.resolve();
    return this.counted;
  }

  override async remove(): Promise<void> {
    await Promise.resolve();
    this.#kernel.content = [];
    this.#known = undefined;
    this.#applied = undefined;
  }

  override async close(): Promise<void> {
    await Promise.resolve();
    this.isClosed = true;
  }

  /** Somebody runs `nft flush ruleset`. */
  flushRuleset(): void {
    this.changeFromOutside([]);
  }

  /** Somebody else puts this content in place of ours. */
  changeFromOutside(content: TableContent): void {
    this.#kernel.content = content;
    this.#known = undefined;
    for (const listener of this.#listeners) listener();
  }
}

/** What outlives the process that wrote it. */
interface Kernel {
  content: TableContent;
}
