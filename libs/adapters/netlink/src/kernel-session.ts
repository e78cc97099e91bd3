import { FleetError } from '#domain/fleet';
import type { NftFamily, NftOperation } from '#domain/nft-ruleset';

import { AF_UNSPEC, FAMILY_NUMBERS, GENERATION_ATTR, NFT_MSG, NLM, NLMSG } from './constants.js';
import { encodeBatch } from './encode-operations.js';
import { describeOperation } from './describe-operation.js';
import { ERRNO, kernelError } from './errno.js';
import { MessageWriter } from './message-writer.js';
import type { NetlinkSocket } from './netlink-socket.js';
import { attributesOf, parseAttributes, textOf, u32Of, type Message } from './parse-messages.js';

// A dump that a concurrent change interrupts starts again; other people's programs change tables at most this often.
const DUMP_TRIES_MAX = 20;
// Receiving is cheap but not free: let other work of the process run between so many datagrams.
const DATAGRAMS_PER_TURN = 8;
const HEADER_LENGTH = 16;
const EXT_ACK_MESSAGE = 1;

/** What the kernel did not do, or did not say that it has done. */
export interface KernelRefusal {
  readonly errno: number;
  readonly operation: NftOperation | undefined;
  readonly error: FleetError;
}

/** A question: which message, about which family, with which attributes. */
export interface KernelQuestion {
  readonly type: number;
  /** Undefined: about no family. */
  readonly family: NftFamily | undefined;
  readonly write?: (writer: MessageWriter) => void;
}

/** What a session needs of its socket. */
export type SessionSocket = Pick<NetlinkSocket, 'send' | 'ask' | 'receive'>;

/** Requests to nf_tables over one socket, one at a time. */
export class KernelSession {
  readonly #socket: SessionSocket;
  #sequence = 1;

  constructor(socket: SessionSocket) {
    this.#socket = socket;
  }

  /**
   * Runs operations as one transaction; where a generation is given, only if nobody has changed any ruleset since. Gives what
   * the kernel refused, or undefined when all of it is in force. ENOBUFS says that its answer was lost: it may be in force.
   */
  async transact(operations: readonly NftOperation[], generation?: number): Promise<KernelRefusal | undefined> {
    this.#drain();
    const batch = encodeBatch(operations, this.#nextSequence(), generation);
    this.#sequence = batch.lastSequence + 1;
    const doing = operations.length === 1 ? describeOperation(operations[0]) : `changing the tables in ${operations.length} steps`;
    const sendErrno = await this.#socket.send(batch.bytes);
    if (sendErrno !== 0) return { errno: sendErrno, operation: undefined, error: kernelError(sendErrno, doing) };
    const answers = this.#drain();
    for (const answer of answers) {
      const errno = errnoOf(answer);
      if (errno === undefined || errno === 0) continue;
      const operation = batch.operationOf(answer.sequence);
      return { errno, operation, error: kernelError(errno, describeOperation(operation), kernelMessageOf(answer)) };
    }
    if (answers.some((answer) => errnoOf(answer) === 0 && answer.sequence === batch.lastSequence)) return undefined;
    return { errno: ERRNO.ENOBUFS, operation: undefined, error: kernelError(ERRNO.ENOBUFS, doing, 'its answer was lost') };
  }

  /** The number of the rulesets' state, of all tables together: it grows with every transaction of anybody. */
  generation(): number {
    const answer = this.get({ type: NFT_MSG.GETGEN, family: undefined });
    return answer === 'none' ? 0 : u32Of(attributesOf(answer), GENERATION_ATTR.ID);
  }

  /** Asks for a list. Starts again where a change interrupts it. `none` when what was asked about does not exist. */
  async dump(question: KernelQuestion): Promise<readonly Message[] | 'none'> {
    for (let attempt = 0; attempt < DUMP_TRIES_MAX; attempt += 1) {
      const result = await this.#dumpOnce(question);
      if (result !== 'interrupted') return result;
    }
    throw new FleetError('NFT_BUSY', 'transient', 'nftables changes faster than it can be read; it is tried again');
  }

  /** Asks for one thing. `none` when it does not exist. */
  get(question: KernelQuestion): Message | 'none' {
    this.#drain();
    this.#request(question, NLM.REQUEST);
    const [answer] = this.#drain();
    if (answer === undefined) throw new FleetError('NFT_BUSY', 'transient', 'the kernel did not answer; it is tried again');
    const errno = errnoOf(answer);
    if (errno === undefined) return answer;
    if (errno === ERRNO.ENOENT) return 'none';
    throw kernelError(errno, 'reading from nftables');
  }

  async #dumpOnce(question: KernelQuestion): Promise<readonly Message[] | 'none' | 'interrupted'> {
    this.#drain();
    const sequence = this.#request(question, NLM.REQUEST | NLM.DUMP);
    const collected: Message[] = [];
    for (let datagrams = 1; ; datagrams += 1) {
      const received = this.#socket.receive();
      // Room was short for a part of it: what came is not all.
      if (received.kind === 'overrun') return 'interrupted';
      if (received.kind !== 'messages') throw new FleetError('NFT_BUSY', 'transient', 'the kernel broke off a list; it is tried again');
      const messages = received.messages.filter((message) => message.sequence === sequence);
      const end = endOfDump(messages);
      if (end === 'interrupted' || end === 'none') return end;
      collected.push(...messages.filter((message) => message.type !== NLMSG.DONE));
      if (end === 'done') return collected;
      if (datagrams % DATAGRAMS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #request({ type, family, write }: KernelQuestion, flags: number): number {
    const writer = new MessageWriter();
    const sequence = this.#nextSequence();
    const message = writer.begin({ type, flags, family: family === undefined ? AF_UNSPEC : FAMILY_NUMBERS[family], sequence });
    write?.(writer);
    writer.end(message);
    const errno = this.#socket.ask(writer.bytes());
    if (errno !== 0) throw kernelError(errno, 'reading from nftables');
    return sequence;
  }

  // The kernel answers while it is being asked, so everything there will be is there.
  #drain(): readonly Message[] {
    const all: Message[] = [];
    for (;;) {
      const received = this.#socket.receive();
      if (received.kind === 'empty') return all;
      if (received.kind === 'messages') all.push(...received.messages);
    }
  }

  #nextSequence(): number {
    this.#sequence = (this.#sequence + 1) % 0x7000_0000;
    return this.#sequence;
  }
}

function endOfDump(messages: readonly Message[]): 'done' | 'none' | 'interrupted' | undefined {
  for (const message of messages) {
    if ((message.flags & NLM.DUMP_INTERRUPTED) !== 0) return 'interrupted';
    const errno = errnoOf(message);
    if (errno === ERRNO.ENOENT) return 'none';
    if (errno === ERRNO.EINTR || errno === ERRNO.EAGAIN) return 'interrupted';
    if (errno !== undefined && errno !== 0) throw kernelError(errno, 'listing from nftables');
    if (message.type === NLMSG.DONE) return 'done';
  }
  return undefined;
}

// An acknowledgement is an error message with error 0.
const errnoOf = (message: Message): number | undefined => (message.type === NLMSG.ERROR ? -message.payload.readInt32LE(0) : undefined);

// Behind the error come the header of the refused message and, if the kernel has more to say, attributes.
const kernelMessageOf = (message: Message): string => textOf(parseAttributes(message.payload.subarray(4 + HEADER_LENGTH)), EXT_ACK_MESSAGE);
