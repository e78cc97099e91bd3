import { TABLE_NAME } from '#domain/nft-ruleset';

import { FAMILY_NUMBERS, NFNL, NFT_MSG, TABLE_ATTR } from './constants.js';
import { kernelError } from './errno.js';
import type { Libc } from './libc.js';
import { NetlinkSocket } from './netlink-socket.js';
import { attributesOf, familyOf, nftType, textOf, type Message } from './parse-messages.js';

const POLLIN = 1;
const POLL_ENTRY_LENGTH = 8;
// A net under the wake-up: nothing is done when it passes, a thread just looks whether it is still wanted.
const WAIT_MAX_MS = 30_000;
const EVENTFD_CLOEXEC = 0o2_000_000;
const OUR_FAMILIES: readonly number[] = Object.values(FAMILY_NUMBERS);
const ONE = Buffer.from(new BigUint64Array([1n]).buffer);

/**
 * Tells of changes that somebody else makes to our tables. Waits in a thread of the pool for the kernel's notifications,
 * so an idle node does nothing at all. Notifications of our own changes carry our own socket's port.
 */
export class ChangeMonitor {
  readonly #libc: Libc;
  readonly #socket: NetlinkSocket;
  readonly #ownPort: number;
  readonly #onForeignChange: () => void;
  readonly #wakeFd: number;
  // A process that exits waits for its threads, so the waiting one must be woken then too.
  readonly #wake = (): void => {
    this.#libc.write(this.#wakeFd, ONE, ONE.length);
  };
  #isClosed = false;
  // Within the transaction that is being told of, somebody else changed our tables.
  #isTouched = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(libc: Libc, options: { readonly networkNamespace: string | undefined; readonly ownPort: number; readonly onForeignChange: () => void }) {
    this.#libc = libc;
    this.#ownPort = options.ownPort;
    this.#onForeignChange = options.onForeignChange;
    this.#socket = new NetlinkSocket(libc, options.networkNamespace);
    this.#socket.join(NFNL.GROUP, options.ownPort);
    this.#wakeFd = libc.eventfd(0, EVENTFD_CLOEXEC);
    if (this.#wakeFd < 0) throw kernelError(libc.errno(), 'making an event to wake the watcher of nftables');
  }

  /** Begins to wait for notifications. */
  start(): void {
    process.once('exit', this.#wake);
    this.#ended = this.#watch();
  }

  /** Looks at what has arrived without waiting. */
  check(): void {
    for (;;) {
      const received = this.#socket.receive();
      if (received.kind === 'empty') return;
      // What was dropped may have been about our table: suspicion costs one read of it, trust could cost traffic.
      if (received.kind === 'overrun') this.#onForeignChange();
      else for (const message of received.messages) this.#read(message);
    }
  }

  /** Stops waiting and closes what it opened. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    process.off('exit', this.#wake);
    this.#wake();
    await this.#ended;
    this.#socket.close();
    this.#libc.close(this.#wakeFd);
  }

  async #watch(): Promise<void> {
    while (!this.#isClosed) {
      await this.#wait();
      if (!this.#isClosed) this.check();
    }
  }

  async #wait(): Promise<void> {
    const entries = Buffer.alloc(POLL_ENTRY_LENGTH * 2);
    [this.#socket.fd, this.#wakeFd].forEach((fd, index) => {
      entries.writeInt32LE(fd, index * POLL_ENTRY_LENGTH);
      entries.writeInt16LE(POLLIN, index * POLL_ENTRY_LENGTH + 4);
    });
    await new Promise<void>((resolve) => {
      this.#libc.poll.async(entries, 2, WAIT_MAX_MS, () => resolve());
    });
  }

  // A transaction is told of in many messages; the new generation's is the last.
  #read(message: Message): void {
    if (nftType(message) !== NFT_MSG.NEWGEN) {
      this.#isTouched ||= this.#isForeign(message);
    } else if (this.#isTouched) {
      this.#isTouched = false;
      this.#onForeignChange();
    }
  }

  #isForeign(message: Message): boolean {
    if (nftType(message) === undefined || message.port === this.#ownPort || !OUR_FAMILIES.includes(familyOf(message))) return false;
    return textOf(attributesOf(message), TABLE_ATTR.NAME) === TABLE_NAME;
  }
}
