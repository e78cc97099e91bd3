import { FleetError } from '#domain/fleet';
import { diffNftRuleset, renderNftRuleset, type NftRuleset } from '#domain/nft-ruleset';
import { Nft, type NftApplied } from '#ports';

import { runOperations, type TableContent } from './simulated-table.js';

/**
 * A node's kernel in memory. It runs the same operations that the real adapters send, by the kernel's rules, so a wrong
 * difference fails here too. Whoever else shares the machine is played by {@link FakeNft.flushRuleset} and
 * {@link FakeNft.changeFromOutside}.
 */
export class FakeNft extends Nft {
  /** The next apply throws this and changes nothing. */
  failNext: Error | undefined;
  /** What the table's counter of refused connections says. */
  rejected = 0;
  isClosed = false;
  readonly #kernel: Kernel;
  #known: NftRuleset | undefined;
  #applied: NftRuleset | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(kernel: Kernel = { content: undefined }) {
    super();
    this.#kernel = kernel;
  }

  /** Another adapter on the same kernel, as after a restart. */
  reopen(): FakeNft {
    return new FakeNft(this.#kernel);
  }

  /** The table in the kernel as text; empty where there is none. */
  get table(): string {
    return this.#kernel.content === undefined ? '' : textOf(this.#kernel.content);
  }

  override async apply(ruleset: NftRuleset): Promise<NftApplied> {
    await Promise.resolve();
    const failure = this.failNext;
    this.failNext = undefined;
    if (failure !== undefined) throw failure;
    const operations = diffNftRuleset(this.#known ?? this.#adopt(), ruleset);
    try {
      this.#kernel.content = runOperations(this.#kernel.content, operations);
    } catch (cause) {
      this.#known = undefined;
      throw new FleetError('NFT_REJECTED', 'bug', cause instanceof Error ? cause.message : 'refused', { cause });
    }
    this.#known = ruleset;
    this.#applied = ruleset;
    return { operations: operations.length, durationMs: 0 };
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

  override async remove(): Promise<void> {
    await Promise.resolve();
    this.#kernel.content = undefined;
    this.#known = undefined;
    this.#applied = undefined;
  }

  override async close(): Promise<void> {
    await Promise.resolve();
    this.isClosed = true;
  }

  #adopt(): NftRuleset | undefined {
    const { content } = this.#kernel;
    return content === undefined ? undefined : { family: 'ip', table: 'spillway', unsupported: [], text: '', ...content };
  }

  /** Somebody runs `nft flush ruleset`. */
  flushRuleset(): void {
    this.changeFromOutside(undefined);
  }

  /** Somebody else puts this content in place of ours. */
  changeFromOutside(content: TableContent | undefined): void {
    this.#kernel.content = content;
    this.#known = undefined;
    for (const listener of this.#listeners) listener();
  }
}

/** What outlives the process that wrote it. */
interface Kernel {
  content: TableContent | undefined;
}

const textOf = (content: TableContent): string => renderNftRuleset({ family: 'ip', table: 'spillway', unsupported: [], ...content });
