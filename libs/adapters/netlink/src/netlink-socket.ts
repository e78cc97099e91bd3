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
const SO_SNDBUF = 7;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SO_ATTACH_FILTER = 26;
const FILTER_STEP_LENGTH = 8;
const FILTER_PROGRAM_LENGTH = 16;
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

  /** Subscribes to a multicast group, but for what was done through the socket of the given port. */
  join(group: number, ownPort: number): void {
    const program = Buffer.from(dropMessagesOf(ownPort));
    this.#must(this.#libc.attachFilter(this.fd, SOL_SOCKET, SO_ATTACH_FILTER, { len: program.length / FILTER_STEP_LENGTH, filter: program }, FILTER_PROGRAM_LENGTH), 'filtering notifications');
    this.#must(this.#setOption(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group), 'subscribing to changes of nftables');
  }

  /**
   * Sends one buffer as a whole: a batch is one message to the kernel, so the socket's send limit is raised to it first
   * (above net.core.wmem_max only the machine's own administrator may; elsewhere the answer is EMSGSIZE). Gives the errno, 0 for
   * none; then the kernel has worked through it, and its answers wait to be received.
   */
  async send(bytes: Buffer): Promise<number> {
    if (bytes.length > this.#sendLimit) {
      const isRaised = this.#setOption(SOL_SOCKET, SO_SNDBUFFORCE, bytes.length) === 0;
      if (isRaised) this.#sendLimit = bytes.length;
      else this.#setOption(SOL_SOCKET, SO_SNDBUF, bytes.length);
    }
    return new Promise<number>((resolve, reject) => {
      this.#libc.send.async(this.fd, bytes, bytes.length, 0, (error, result) => {
        if (error instanceof Error) reject(error);
        else resolve(result < 0 ? this.#libc.errno() : 0);
      });
    });
  }

  /** Sends a question. The kernel begins to answer before this returns, in microseconds; so it needs no thread. Gives the errno. */
  ask(bytes: Buffer): number {
    return this.#libc.send(this.fd, bytes, bytes.length, 0) < 0 ? this.#libc.errno() : 0;
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

// A filter of the kernel's small machine: load the port that a notification's header names, drop it if that is ours, else
// let it pass. Without it the notifications of one large change of our own would overrun the socket.
function dropMessagesOf(port: number): Uint8Array {
  const steps = Buffer.alloc(FILTER_STEP_LENGTH * 4);
  const step = (index: number, code: number, jumps: readonly [ifTrue: number, ifFalse: number], value: number): void => {
    const at = index * FILTER_STEP_LENGTH;
    steps.writeUInt16LE(code, at);
    steps.writeUInt8(jumps[0], at + 2);
    steps.writeUInt8(jumps[1], at + 3);
    steps.writeUInt32LE(value, at + 4);
  };
  const portBytes = Buffer.alloc(4);
  portBytes.writeUInt32LE(port);
  step(0, 0x20, [0, 0], 12);
  step(1, 0x15, [0, 1], portBytes.readUInt32BE(0));
  step(2, 0x06, [0, 0], 0);
  step(3, 0x06, [0, 0], 0xffff_ffff);
  return steps;
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
