import { diffNftRuleset, flowOfFields, FLOWS_SET, GAPS_COUNTER, listedTableProblems, NFT_FAMILIES, REJECTED_COUNTER, renderNftOperations, TABLE_NAME, tablesInForce, UNKNOWN_TABLES, type NftFamily, type NftFlow, type NftOperation, type NftRuleset, type NftShareMaps, type NftTablesInForce } from '#domain/nft-ruleset';
import { Nft, type NftApplied } from '#ports';

import { NftMonitor } from './nft-monitor.js';
import { listedFlows, listedUnitMaps } from './read-listing.js';
import { isNotFound, nftCommand, runNft, type NftCommand } from './run-nft.js';

/** How to reach the kernel. */
export interface NftProgramOptions {
  /** Path of a network namespace to act in; the process's own by default. */
  readonly networkNamespace?: string;
}

/**
 * The node's tables by the `nft` program: for machines where the FFI does not load. The same transactions as text; each
 * one costs a process that first reads the whole ruleset back, so it is slow where there are thousands of frontends.
 */
export class NftProgram extends Nft {
  // The program has no words for looking up what was remembered.
  override readonly affinity = 'hashed';
  readonly #command: NftCommand;
  readonly #monitor: NftMonitor;
  readonly #listeners = new Set<() => void>();
  #known: NftTablesInForce | undefined;
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
    return this.#inTurn(async () => (await this.#listTables()).size > 0);
  }

  override isIntact(): Promise<boolean> {
    return this.#inTurn(async () => this.#applied !== undefined && (await this.#isInKernel(this.#applied)));
  }

  override onForeignChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  override rejectedConnections(): Promise<number> {
    return this.#inTurn(() => this.#readCounter(REJECTED_COUNTER));
  }

  override gapConnections(): Promise<number> {
    return this.#inTurn(() => this.#readCounter(GAPS_COUNTER));
  }

  override flows(): Promise<readonly NftFlow[]> {
    return this.#inTurn(async () => {
      const listed = await Promise.all(NFT_FAMILIES.map((family) => this.#list(['set', family, TABLE_NAME, FLOWS_SET])));
      return listed.flatMap((text) => (text === undefined ? [] : listedFlows(JSON.parse(text)).map(({ fields, packets }) => flowOfFields(fields, packets))));
    });
  }

  override shareMaps(): Promise<NftShareMaps> {
    return this.#inTurn(async () => {
      const listed = await this.#listTables();
      return { ip: listedUnitMaps(listed.get('ip')), ip6: listedUnitMaps(listed.get('ip6')) };
    });
  }

  override remove(): Promise<void> {
    return this.#inTurn(async () => {
      this.#known = undefined;
      this.#applied = undefined;
      const operations = [...(await this.#listTables()).keys()].map((family): NftOperation => ({ op: 'delete-table', family }));
      if (operations.length > 0) await this.#write(operations);
    });
  }

  override async close(): Promise<void> {
    await this.#queue.catch(() => undefined);
    await this.#monitor.close();
  }

  async #bringTo(ruleset: NftRuleset): Promise<number> {
    const before = this.#known ?? (await this.#inForce(ruleset));
    const foreignChanges = this.#foreignChanges;
    const operations = diffNftRuleset(before, ruleset);
    this.#known = undefined;
    if (operations.length > 0) await this.#write(operations);
    this.#applied = ruleset;
    if (this.#foreignChanges === foreignChanges) this.#known = tablesInForce(ruleset);
    return operations.length;
  }

  // A table is taken over only where it is exactly as wanted: the program's listing says what differs, not what is there.
  async #inForce(ruleset: NftRuleset): Promise<NftTablesInForce> {
    const listed = await this.#listTables();
    const of = (family: NftFamily): NftTablesInForce[NftFamily] => {
      const content = listed.get(family);
      const wanted = ruleset.tables.find((table) => table.family === family);
      if (content === undefined) return 'none';
      return wanted !== undefined && listedTableProblems(content, wanted).length === 0 ? wanted : UNKNOWN_TABLES[family];
    };
    return { ip: of('ip'), ip6: of('ip6') };
  }

  async #isInKernel(ruleset: NftRuleset): Promise<boolean> {
    return diffNftRuleset(await this.#inForce(ruleset), ruleset).length === 0;
  }

  async #write(operations: readonly NftOperation[]): Promise<void> {
    await runNft(this.#command, { arguments: ['-f', '-'], input: renderNftOperations(operations), onStart: (pid) => this.#monitor.addOwnPid(pid) });
  }

  async #listTables(): Promise<ReadonlyMap<NftFamily, unknown>> {
    const listed = new Map<NftFamily, unknown>();
    for (const family of NFT_FAMILIES) {
      const text = await this.#list(['table', family, TABLE_NAME]);
      if (text !== undefined) listed.set(family, JSON.parse(text));
    }
    return listed;
  }

  async #readCounter(name: string): Promise<number> {
    let sum = 0;
    for (const family of NFT_FAMILIES) sum += Number(/"packets": (\d+)/.exec((await this.#list(['counter', family, TABLE_NAME, name])) ?? '')?.[1] ?? 0);
    return sum;
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
