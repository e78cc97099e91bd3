import type { Socket } from 'node:net';

const LENGTH_BYTES = 2;
/** Longer questions exist only to hurt. */
const QUERY_BYTES_MAX = 4_096;

/** One connection's questions and answers, in order; holds at most what one read brought, and what one write could not take. */
export class TcpConversation {
  readonly #socket: Socket;
  readonly #respond: (message: Buffer) => Buffer | undefined;
  readonly #onQuestion: () => void;
  #pending: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, respond: (message: Buffer) => Buffer | undefined, onQuestion: () => void) {
    this.#socket = socket;
    this.#respond = respond;
    this.#onQuestion = onQuestion;
  }

  start(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
      this.#goOn();
    });
    this.#socket.on('drain', () => this.#goOn());
  }

  #goOn(): void {
    while (!this.#socket.destroyed && this.#pending.length >= LENGTH_BYTES) {
      const length = this.#pending.readUInt16BE(0);
      if (length > QUERY_BYTES_MAX) {
        this.#socket.destroy();
        return;
      }
      const end = LENGTH_BYTES + length;
      if (this.#pending.length < end) break;
      const message = this.#pending.subarray(LENGTH_BYTES, end);
      this.#pending = this.#pending.subarray(end);
      if (!this.#answer(message)) return;
    }
    this.#socket.resume();
  }

  /** Returns whether the next question may be answered at once. */
  #answer(message: Buffer): boolean {
    this.#onQuestion();
    const response = this.#respond(message);
    // A message that is no query ends the conversation: what follows it cannot be trusted either.
    if (response === undefined) {
      this.#socket.destroy();
      return false;
    }
    if (this.#socket.write(framed(response))) return true;
    // A client that asks without reading gets no more answers, and is not read from, until it has read.
    this.#socket.pause();
    return false;
  }
}

function framed(response: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(response.length, 0);
  return Buffer.concat([length, response]);
}
