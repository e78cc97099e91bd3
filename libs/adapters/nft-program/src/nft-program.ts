import { diffNftRuleset, listedTableProblems, REJECTED_COUNTER, renderNftOperations, TABLE_NAME, type NftOperation, type NftRuleset } from '#domain/nft-ruleset';
import { Nft, type NftApplied } from '#ports';

import { NftMonitor } from './nft-monitor.js';
import { isNotFound, nftCommand, runNft, type NftCommand } from './run-nft.js';

/** How to reach the kernel. */
export interface NftProgramOptions {
  /** Path of a network namespace to act in; the process's own by default. */
  readonly networkNamespace?: string;
}

/**
 * The node's table by the `nft` program: for machines where the FFI does not load. The same transactions as text; each
 * one costs a process that first reads the whole ruleset back, so it is slow where there are thousands of frontends.
 */
export class NftProgram extends Nft {
  readonly #command: NftCommand;
  readonly #monitor: NftMonitor;
  readonly #listeners = new Set<() => void>();
  #known: NftRuleset | undefined;
  #applied: NftRuleset | undefined;
  #foreignChanges = 0;
  #queue: Promise<unknown> = Promise.resolve();

  /** Starts to watch. Throws FleetError NFT_UNAVAILABLE where the program or the permission is missing. */
  static async open(options: NftProgramOptions = {}): Promise<NftProgram> {
    const command = nftCommand(options.networkNamespace);
    await runNft(command, { arguments: ['-j', 'list', 'tables'] });
    return new NftProgram(command);
  }

  private constructor(command: NftCommand) {
    super();
    this.#command = command;
    this.#monitor = new NftMonitor(command, () => this.#noteForeignChange());
  }

  override apply(ruleset: NftRuleset): Promise<NftApplied> {
    return this.#inTurn(async () => {
      const startedMs = performance.now();
      const operations = await this.#bringTo(ruleset);
      return { operations, durationMs: performance.now() - startedMs };
    });
  }

  override exists(): Promise<boolean> {
    return this.#inTurn(async () => (await this.#list(['table', 'ip', TABLE_NAME])) !== undefined);
  }

  override isIntact(): Promise<boolean> {
    return this.#inTurn(async () => this.#applied !== undefined && (await this.#isInKernel(this.#applied)));
  }

  override onForeignChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  override rejectedConnections(): Promise<number> {
    return this.#inTurn(async () => {
      const listed = await this.#list(['counter', 'ip', TABLE_NAME, REJECTED_COUNTER]);
      return Number(/"packets": (\d+)/.exec(listed ?? '')?.[1] ?? 0);
    });
  }

  override remove(): Promise<void> {
    return this.#inTurn(async () => {
      this.#known = undefined;
      this.#applied = undefined;
      await this.#write([{ op: 'add-table' }, { op: 'delete-table' }]);
    });
  }

  override async close(): Promise<void> {
    await this.#queue.catch(() => undefined);
    await this.#monitor.close();
  }

  async #bringTo(ruleset: NftRuleset): Promise<number> {
    const before = this.#known ?? ((await this.#isInKernel(ruleset)) ? ruleset : undefined);
    const foreignChanges = this.#foreignChanges;
    const operations = diffNftRuleset(before, ruleset);
    this.#known = undefined;
    if (operations.length > 0) await this.#write(operations);
    this.#applied = ruleset;
    if (this.#foreignChanges === foreignChanges) this.#known = ruleset;
    return operations.length;
  }

  async #write(operations: readonly NftOperation[]): Promise<void> {
    await runNft(this.#command, { arguments: ['-f', '-'], input: renderNftOperations(operations), onStart: (pid) => this.#monitor.addOwnPid(pid) });
  }

  async #isInKernel(ruleset: NftRuleset): Promise<boolean> {
    const listed = await this.#list(['table', 'ip', TABLE_NAME]);
    return listed !== undefined && listedTableProblems(JSON.parse(listed), ruleset).length === 0;
  }

  async #list(what: readonly string[]): Promise<string | undefined> {
    try {
      return (await runNft(this.#command, { arguments: ['-j', 'list', ...what] })).output;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #noteForeignChange(): void {
    this.#foreignChanges += 1;
    this.#known = undefined;
    for (const listener of this.#listeners) listener();
  }

  // One process at a time, in the order of the calls.
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work, work);
    this.#queue = turn.catch(() => undefined);
    return turn;
  }
}
