import type { Socket } from 'node:net';

/** Bounds of DNS over TCP. */
export interface TcpLimits {
  /** Connections at once; beyond it the one that asked nothing for the longest gives way. */
  readonly connectionsMax: number;
  /** Connections of one source address at once; more are closed as they come. */
  readonly connectionsPerSourceMax: number;
  /** A connection on which no whole question arrives for so long is closed, however many bytes of one do. */
  readonly idleMs: number;
}

/** Why the server ended a connection: its source has too many, it gave way to a newer one, or it asked nothing. */
export const TCP_ENDINGS = ['source-full', 'gave-way', 'idle'] as const;

/** One of {@link TCP_ENDINGS}. */
export type TcpEnding = (typeof TCP_ENDINGS)[number];

interface Guest {
  readonly source: string;
  readonly timer: NodeJS.Timeout;
}

/**
 * Who may be connected. Nobody can keep the others out: one source has a share of the connections only, and many sources
 * lose those first that they do not use (RFC 7766 §6.2.3).
 */
export class TcpDoor {
  readonly #limits: TcpLimits;
  /** The one that asked nothing for the longest comes first. */
  readonly #guests = new Map<Socket, Guest>();
  readonly #bySource = new Map<string, number>();
  readonly endings: Record<TcpEnding, number> = { 'source-full': 0, 'gave-way': 0, idle: 0 };

  constructor(limits: TcpLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#guests.size;
  }

  /** Takes a new connection, or closes it. */
  letIn(socket: Socket): boolean {
    socket.on('error', () => socket.destroy());
    const source = socket.remoteAddress ?? '';
    const ofSource = this.#bySource.get(source) ?? 0;
    if (ofSource >= this.#limits.connectionsPerSourceMax) {
      this.#end(socket, 'source-full');
      return false;
    }
    const [longestIdle] = this.#guests.keys();
    if (longestIdle !== undefined && this.#guests.size >= this.#limits.connectionsMax) this.#end(longestIdle, 'gave-way');
    this.#bySource.set(source, ofSource + 1);
    this.#guests.set(socket, { source, timer: setTimeout(() => this.#end(socket, 'idle'), this.#limits.idleMs) });
    socket.once('close', () => this.#forget(socket));
    return true;
  }

  /** Notes that a whole question has come. */
  asked(socket: Socket): void {
    const guest = this.#guests.get(socket);
    if (guest === undefined) return;
    guest.timer.refresh();
    this.#guests.delete(socket);
    this.#guests.set(socket, guest);
  }

  closeAll(): void {
    for (const socket of [...this.#guests.keys()]) {
      this.#forget(socket);
      socket.destroy();
    }
  }

  #end(socket: Socket, why: TcpEnding): void {
    this.endings[why] += 1;
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Socket): void {
    const guest = this.#guests.get(socket);
    if (guest === undefined) return;
    clearTimeout(guest.timer);
    this.#guests.delete(socket);
    const left = (this.#bySource.get(guest.source) ?? 1) - 1;
    if (left > 0) this.#bySource.set(guest.source, left);
    else this.#bySource.delete(guest.source);
  }
}
