import {
  diffNftRuleset,
  FLOWS_SET,
  flowOfFields,
  GAPS_COUNTER,
  NFT_FAMILIES,
  REJECTED_COUNTER,
  SET_LAYOUTS,
  splitNftOperations,
  TABLE_NAME,
  tablesInForce,
  type NftFamily,
  type NftFlow,
  type NftOperation,
  type NftRuleset,
  type NftShareMaps,
  type NftTablesInForce,
  type NftUnitMap,
} from '#domain/nft-ruleset';
import { Nft, type NftApplied } from '#ports';

import { adoptTable } from './adopt-table.js';
import { ChangeMonitor } from './change-monitor.js';
import { COUNTER_ATTR, NFT_MSG, OBJ_ATTR, OBJ_COUNTER, TABLE_ATTR } from './constants.js';
import { ERESTART, ERRNO } from './errno.js';
import { KernelSession, type KernelRefusal } from './kernel-session.js';
import { loadLibc, type Libc } from './libc.js';
import { NetlinkSocket } from './netlink-socket.js';
import { attributesOf, findAttribute, nestedOf } from './parse-messages.js';
import { keyFields, packetsOf, readElements, readTable, type KernelTable } from './read-table.js';

/** How to reach the kernel. */
export interface NetlinkNftOptions {
  /** Path of a network namespace to act in; the process's own by default. */
  readonly networkNamespace?: string;
}

// What the kernel says when it does not hold what we think it does.
const STALE_KNOWLEDGE: readonly number[] = [ERRNO.ENOENT, ERRNO.EEXIST, ERRNO.EBUSY];
// What it says when nobody can know what it holds: somebody was faster, or its answer was lost.
const UNKNOWN_STATE: readonly number[] = [ERRNO.EINTR, ERRNO.ENOBUFS, ERESTART];
const APPLY_TRIES_MAX = 5;
// Somebody who changes tables all the time must not keep us from changing ours: the last tries do not ask.
const CHECKED_TRIES = 3;

/** What was read back of the kernel, and at which state of its rulesets. */
interface ReadBack {
  readonly tables: ReadonlyMap<NftFamily, KernelTable>;
  readonly generation: number;
}

/**
 * The node's tables over raw netlink. One transaction per change. What the kernel holds is remembered; it is read back at
 * the first apply, after a foreign change, and when the kernel contradicts the memory.
 */
export class NetlinkNft extends Nft {
  override readonly affinity = 'timed';
  readonly #socket: NetlinkSocket;
  readonly #session: KernelSession;
  readonly #monitor: ChangeMonitor;
  readonly #listeners = new Set<() => void>();
  #known: NftTablesInForce | undefined;
  #read: ReadBack | undefined;
  #applied: NftRuleset | undefined;
  #handles: string | undefined;
  #foreignChanges = 0;
  #queue: Promise<unknown> = Promise.resolve();

  /** Opens the sockets. Throws FleetError NFT_UNAVAILABLE where the FFI, the kernel or the permission is missing. */
  static async open(options: NetlinkNftOptions = {}): Promise<NetlinkNft> {
    const nft = new NetlinkNft(await loadLibc(), options);
    try {
      // The kernel answers nobody without the right to change: better said now than at the first change.
      await nft.exists();
    } catch (error) {
      await nft.close();
      throw error;
    }
    return nft;
  }

  private constructor(libc: Libc, options: NetlinkNftOptions) {
    super();
    this.#socket = new NetlinkSocket(libc, options.networkNamespace);
    this.#session = new KernelSession(this.#socket);
    try {
      this.#monitor = new ChangeMonitor(libc, {
        networkNamespace: options.networkNamespace,
        ownPort: this.#socket.port,
        onForeignChange: () => this.#noteForeignChange(),
      });
    } catch (error) {
      this.#socket.close();
      throw error;
    }
    this.#monitor.start();
  }

  override apply(ruleset: NftRuleset): Promise<NftApplied> {
    return this.#inTurn(async () => {
      const startedMs = performance.now();
      const operations = await this.#bringTo(ruleset);
      return { operations, durationMs: performance.now() - startedMs };
    });
  }

  override exists(): Promise<boolean> {
    return this.#inTurn(() => NFT_FAMILIES.some((family) => this.#readHandle(family) !== undefined));
  }

  override isIntact(): Promise<boolean> {
    return this.#inTurn(async () => {
      const applied = this.#applied;
      if (applied === undefined) return false;
      this.#monitor.check();
      // A table that was made anew has another handle: a net under the notifications.
      const handles = NFT_FAMILIES.map((family) => this.#readHandle(family) ?? '-').join();
      if (this.#handles !== undefined && handles !== this.#handles) this.#forget();
      this.#handles = handles;
      if (!this.#holdsTablesOf(applied)) this.#forget();
      if (this.#known === undefined) {
        const before = this.#adopted(await this.#readBack(), applied);
        if (diffNftRuleset(before, applied).length > 0) return false;
        this.#known = tablesInForce(applied);
      }
      return true;
    });
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
      const flows: NftFlow[] = [];
      for (const family of NFT_FAMILIES) {
        const elements = await readElements({ session: this.#session, family }, FLOWS_SET);
        flows.push(...elements.map((element) => flowOfFields(keyFields(element, family, SET_LAYOUTS.flows.key), packetsOf(element))));
      }
      return flows;
    });
  }

  override shareMaps(): Promise<NftShareMaps> {
    return this.#inTurn(async () => {
      const known = this.#known;
      const read = known === undefined ? (this.#read ??= await this.#readBack()) : undefined;
      const of = (family: NftFamily): ReadonlyMap<string, NftUnitMap> => {
        const table = known?.[family];
        const sets = read === undefined ? (table === undefined || table === 'none' ? [] : table.sets) : (read.tables.get(family)?.sets ?? []).flatMap(({ content }) => content ?? []);
        return new Map(sets.flatMap((set) => (set.kind === 'shares' || set.kind === 'owners' ? [[set.name, set]] : [])));
      };
      return { ip: of('ip'), ip6: of('ip6') };
    });
  }

  override remove(): Promise<void> {
    return this.#inTurn(async () => {
      this.#forget();
      this.#applied = undefined;
      // Only what is there: a kernel without IPv6 has no word for its table.
      const operations = NFT_FAMILIES.filter((family) => this.#readHandle(family) !== undefined).map((family): NftOperation => ({ op: 'delete-table', family }));
      const refusal = operations.length === 0 ? undefined : await this.#session.transact(operations);
      if (refusal !== undefined && refusal.errno !== ERRNO.ENOENT) throw refusal.error;
    });
  }

  override async close(): Promise<void> {
    await this.#queue.catch(() => undefined);
    await this.#monitor.close();
    this.#socket.close();
  }

  #readHandle(family: NftFamily): bigint | undefined {
    const message = this.#session.get({ type: NFT_MSG.GETTABLE, family, write: (writer) => writer.text(TABLE_ATTR.NAME, TABLE_NAME) });
    return message === 'none' ? undefined : findAttribute(attributesOf(message), TABLE_ATTR.HANDLE)?.readBigUInt64BE(0);
  }

  #holdsTablesOf({ tables }: NftRuleset): boolean {
    return NFT_FAMILIES.every((family) => (this.#readHandle(family) !== undefined) === tables.some((table) => table.family === family));
  }

  #readCounter(name: string): number {
    return NFT_FAMILIES.reduce((sum, family) => {
      const message = this.#session.get({
        type: NFT_MSG.GETOBJ,
        family,
        write: (writer) => {
          writer.text(OBJ_ATTR.TABLE, TABLE_NAME);
          writer.text(OBJ_ATTR.NAME, name);
          writer.u32(OBJ_ATTR.TYPE, OBJ_COUNTER);
        },
      });
      const packets = message === 'none' ? undefined : findAttribute(nestedOf(attributesOf(message), OBJ_ATTR.DATA), COUNTER_ATTR.PACKETS);
      return sum + Number(packets?.readBigUInt64BE(0) ?? 0n);
    }, 0);
  }

  async #bringTo(ruleset: NftRuleset): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      const isFromMemory = this.#known !== undefined;
      const { before, generation } = await this.#basis(ruleset);
      const foreignChanges = this.#foreignChanges;
      this.#forget();
      const operations = diffNftRuleset(before, ruleset);
      const refusal = await this.#transact(operations, attempt <= CHECKED_TRIES ? generation : undefined);
      if (refusal === undefined) {
        this.#applied = ruleset;
        // Somebody changed the tables meanwhile: the listeners were told, and the next apply reads them again.
        if (this.#foreignChanges === foreignChanges) this.#known = tablesInForce(ruleset);
        return operations.length;
      }
      if (attempt === APPLY_TRIES_MAX || !isWorthAnother(refusal, isFromMemory)) throw refusal.error;
    }
  }

  // What a change starts from: the memory, or else the kernel, and then at which state it was read.
  async #basis(ruleset: NftRuleset): Promise<{ readonly before: NftTablesInForce; readonly generation: number | undefined }> {
    if (this.#known !== undefined) return { before: this.#known, generation: undefined };
    const read = this.#read ?? (await this.#readBack());
    return { before: this.#adopted(read, ruleset), generation: read.generation };
  }

  // One transaction; where the kernel does not take so much at once, several by the rule of splitNftOperations.
  async #transact(operations: readonly NftOperation[], generation: number | undefined): Promise<KernelRefusal | undefined> {
    if (operations.length === 0) return undefined;
    const refusal = await this.#session.transact(operations, generation);
    const halves = refusal?.errno === ERRNO.EMSGSIZE ? splitNftOperations(operations) : undefined;
    if (halves === undefined) return refusal;
    return (await this.#transact(halves[0], generation)) ?? (await this.#transact(halves[1], undefined));
  }

  // All that is read must be of one state, or it may never have been so.
  async #readBack(): Promise<ReadBack> {
    for (let attempt = 1; ; attempt += 1) {
      const generation = this.#session.generation();
      const tables = new Map<NftFamily, KernelTable>();
      for (const family of NFT_FAMILIES) {
        const table = await readTable(this.#session, family);
        if (table !== undefined) tables.set(family, table);
      }
      if (attempt === CHECKED_TRIES || this.#session.generation() === generation) return { tables, generation };
    }
  }

  #adopted(read: ReadBack, ruleset: NftRuleset): NftTablesInForce {
    const of = (family: NftFamily): NftTablesInForce[NftFamily] => {
      const table = read.tables.get(family);
      const wanted = ruleset.tables.find((one) => one.family === family);
      if (table === undefined) return 'none';
      return wanted === undefined ? undefined : adoptTable(table, wanted);
    };
    return { ip: of('ip'), ip6: of('ip6') };
  }

  #forget(): void {
    this.#known = undefined;
    this.#read = undefined;
    this.#handles = undefined;
  }

  #noteForeignChange(): void {
    this.#foreignChanges += 1;
    this.#known = undefined;
    this.#read = undefined;
    for (const listener of this.#listeners) listener();
  }

  // One socket, one question at a time.
  #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#queue.then(work, work);
    this.#queue = turn.catch(() => undefined);
    return turn;
  }
}

const isWorthAnother = ({ errno }: KernelRefusal, isFromMemory: boolean): boolean => UNKNOWN_STATE.includes(errno) || (isFromMemory && STALE_KNOWLEDGE.includes(errno));
