import { diffNftRuleset, REJECTED_COUNTER, splitNftOperations, TABLE_NAME, type NftOperation, type NftRuleset } from '#domain/nft-ruleset';
import { Nft, type NftApplied } from '#ports';

import { adoptTable } from './adopt-table.js';
import { ChangeMonitor } from './change-monitor.js';
import { COUNTER_ATTR, NFT_MSG, OBJ_ATTR, OBJ_COUNTER, TABLE_ATTR } from './constants.js';
import { ERRNO } from './errno.js';
import { KernelSession, type KernelRefusal } from './kernel-session.js';
import { loadLibc, type Libc } from './libc.js';
import { NetlinkSocket } from './netlink-socket.js';
import { attributesOf, findAttribute, nestedOf } from './parse-messages.js';
import { readTable } from './read-table.js';

/** How to reach the kernel. */
export interface NetlinkNftOptions {
  /** Path of a network namespace to act in; the process's own by default. */
  readonly networkNamespace?: string;
}

// What the kernel says when it does not hold what we think it does: then it is read again, once per apply.
const STALE_KNOWLEDGE: readonly number[] = [ERRNO.ENOENT, ERRNO.EEXIST, ERRNO.EBUSY];

/**
 * The node's table over raw netlink. One transaction per change. What the kernel holds is remembered; it is read back at
 * the first apply, after a foreign change, and when the kernel contradicts the memory.
 */
export class NetlinkNft extends Nft {
  readonly #socket: NetlinkSocket;
  readonly #session: KernelSession;
  readonly #monitor: ChangeMonitor;
  readonly #listeners = new Set<() => void>();
  #known: NftRuleset | undefined;
  #applied: NftRuleset | undefined;
  #handle: bigint | undefined;
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
    return this.#inTurn(() => this.#readHandle() !== undefined);
  }

  override isIntact(): Promise<boolean> {
    return this.#inTurn(async () => {
      const applied = this.#applied;
      if (applied === undefined) return false;
      this.#monitor.check();
      // A table that was made anew has another handle: a net under the notifications.
      const handle = this.#readHandle();
      if (this.#handle !== undefined && handle !== this.#handle) this.#known = undefined;
      this.#handle = handle;
      if (handle === undefined) this.#known = undefined;
      if (this.#known === undefined) {
        const before = await this.#readBack(applied);
        if (before === undefined || diffNftRuleset(before, applied).length > 0) return false;
        this.#known = applied;
      }
      return true;
    });
  }

  override onForeignChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  override rejectedConnections(): Promise<number> {
    return this.#inTurn(() => {
      const message = this.#session.get(NFT_MSG.GETOBJ, (writer) => {
        writer.text(OBJ_ATTR.TABLE, TABLE_NAME);
        writer.text(OBJ_ATTR.NAME, REJECTED_COUNTER);
        writer.u32(OBJ_ATTR.TYPE, OBJ_COUNTER);
      });
      if (message === 'none') return 0;
      return Number(findAttribute(nestedOf(attributesOf(message), OBJ_ATTR.DATA), COUNTER_ATTR.PACKETS)?.readBigUInt64BE(0) ?? 0n);
    });
  }

  override remove(): Promise<void> {
    return this.#inTurn(async () => {
      this.#known = undefined;
      this.#applied = undefined;
      // "add" first, so that removing what is not there is no error.
      const refusal = await this.#session.transact([{ op: 'add-table' }, { op: 'delete-table' }]);
      if (refusal !== undefined) throw refusal.error;
    });
  }

  override async close(): Promise<void> {
    await this.#queue.catch(() => undefined);
    await this.#monitor.close();
    this.#socket.close();
  }

  #readHandle(): bigint | undefined {
    const message = this.#session.get(NFT_MSG.GETTABLE, (writer) => writer.text(TABLE_ATTR.NAME, TABLE_NAME));
    return message === 'none' ? undefined : findAttribute(attributesOf(message), TABLE_ATTR.HANDLE)?.readBigUInt64BE(0);
  }

  async #bringTo(ruleset: NftRuleset): Promise<number> {
    const isFromMemory = this.#known !== undefined;
    const foreignChanges = this.#foreignChanges;
    const operations = diffNftRuleset(this.#known ?? (await this.#readBack(ruleset)), ruleset);
    this.#known = undefined;
    this.#handle = undefined;
    const refusal = await this.#transact(operations);
    if (refusal !== undefined) {
      if (isFromMemory && STALE_KNOWLEDGE.includes(refusal.errno)) return this.#bringTo(ruleset);
      throw refusal.error;
    }
    this.#applied = ruleset;
    // Somebody changed the table meanwhile: the listeners were told, and the next apply reads it again.
    if (this.#foreignChanges === foreignChanges) this.#known = ruleset;
    return operations.length;
  }

  // One transaction; where the kernel does not take so much at once, several by the rule of splitNftOperations.
  async #transact(operations: readonly NftOperation[]): Promise<KernelRefusal | undefined> {
    if (operations.length === 0) return undefined;
    const refusal = await this.#session.transact(operations);
    const halves = refusal?.errno === ERRNO.EMSGSIZE ? splitNftOperations(operations) : undefined;
    if (halves === undefined) return refusal;
    return (await this.#transact(halves[0])) ?? (await this.#transact(halves[1]));
  }

  async #readBack(wanted: NftRuleset): Promise<NftRuleset | undefined> {
    const table = await readTable(this.#session);
    return table === undefined ? undefined : adoptTable(table, wanted);
  }

  #noteForeignChange(): void {
    this.#foreignChanges += 1;
    this.#known = undefined;
    for (const listener of this.#listeners) listener();
  }

  // One socket, one question at a time.
  #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#queue.then(work, work);
    this.#queue = turn.catch(() => undefined);
    return turn;
  }
}

