import { openSync, closeSync } from 'node:fs';

import { ERRNO, kernelError } from './errno.js';
import type { Libc } from './libc.js';
import { parseMessages, type Message } from './parse-messages.js';

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2_000_000;
const NETLINK_NETFILTER = 12;
const MSG_DONTWAIT = 0x40;
const SOL_SOCKET = 1;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const CLONE_NEWNET = 0x4000_0000;
const ADDRESS_LENGTH = 12;
const RECEIVE_LENGTH = 64 * 1024;
const RECEIVE_BUFFER_LENGTH = 8 * 1024 * 1024;

/** What nonblocking receive found: messages, nothing yet, or that the kernel dropped some for want of room. */
export type Received = { readonly kind: 'messages'; readonly messages: readonly Message[] } | { readonly kind: 'empty' } | { readonly kind: 'overrun' };

/** One socket to netfilter over netlink. Receiving never waits; sending runs on a thread of the pool. */
export class NetlinkSocket {
  readonly fd: number;
  /** The kernel's name for this socket: notifications of what was done through it carry it. */
  readonly port: number;
  readonly #libc: Libc;
  readonly #received = Buffer.alloc(RECEIVE_LENGTH);
  #sendLimit = 0;

  constructor(libc: Libc, networkNamespace?: string) {
    this.#libc = libc;
    this.fd = inNamespace(libc, networkNamespace, () => libc.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
    if (this.fd < 0) throw kernelError(libc.errno(), 'opening a netlink socket');
    const address = Buffer.alloc(ADDRESS_LENGTH);
    address.writeUInt16LE(AF_NETLINK);
    this.#must(libc.bind(this.fd, address, ADDRESS_LENGTH), 'binding a netlink socket');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(ADDRESS_LENGTH);
    this.#must(libc.getsockname(this.fd, address, length), 'naming a netlink socket');
    this.port = address.readUInt32LE(4);
    this.#setOption(SOL_NETLINK, NETLINK_CAP_ACK, 1);
    this.#setOption(SOL_NETLINK, NETLINK_EXT_ACK, 1);
    this.#setOption(SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_LENGTH);
  }

  /** Subscribes to a multicast group. */
  join(group: number): void {
    this.#must(this.#setOption(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group), 'subscribing to changes of nftables');
  }

  /**
   * Sends one buffer as a whole: a batch is one message to the kernel, so the socket's send limit is raised to it first
   * (a limit that only the machine's own administrator may raise; the answer is EMSGSIZE elsewhere). Gives the errno, 0 for
   * none; then the kernel has worked through it, and its answers wait to be received.
   */
  async send(bytes: Buffer): Promise<number> {
    if (bytes.length > this.#sendLimit && this.#setOption(SOL_SOCKET, SO_SNDBUFFORCE, bytes.length) === 0) this.#sendLimit = bytes.length;
    return new Promise<number>((resolve, reject) => {
      this.#libc.send.async(this.fd, bytes, bytes.length, 0, (error, result) => {
        if (error instanceof Error) reject(error);
        else resolve(result < 0 ? this.#libc.errno() : 0);
      });
    });
  }

  /** Takes what has arrived, up to one datagram. */
  receive(): Received {
    const length = this.#libc.recv(this.fd, this.#received, this.#received.length, MSG_DONTWAIT);
    if (length > 0) return { kind: 'messages', messages: parseMessages(Buffer.from(this.#received.subarray(0, length))) };
    const errno = this.#libc.errno();
    if (length === 0 || errno === ERRNO.EAGAIN || errno === ERRNO.EINTR) return { kind: 'empty' };
    if (errno === ERRNO.ENOBUFS) return { kind: 'overrun' };
    throw kernelError(errno, 'receiving from netlink');
  }

  close(): void {
    this.#libc.close(this.fd);
  }

  #setOption(level: number, option: number, value: number): number {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    return this.#libc.setsockopt(this.fd, level, option, bytes, 4);
  }

  #must(result: number, doing: string): void {
    if (result >= 0) return;
    const error = kernelError(this.#libc.errno(), doing);
    this.close();
    throw error;
  }
}

// A socket belongs to the network namespace of the thread that opens it, for ever.
function inNamespace(libc: Libc, path: string | undefined, open: () => number): number {
  if (path === undefined) return open();
  const own = openSync('/proc/thread-self/ns/net', 'r');
  const other = openSync(path, 'r');
  try {
    if (libc.setns(other, CLONE_NEWNET) < 0) throw kernelError(libc.errno(), `entering the network namespace ${path}`);
    return open();
  } finally {
    libc.setns(own, CLONE_NEWNET);
    closeSync(other);
    closeSync(own);
  }
}
