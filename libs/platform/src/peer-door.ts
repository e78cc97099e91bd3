import type { Socket } from 'node:net';

import { Counter, Gauge, type Registry } from 'prom-client';

/** Bounds of a {@link PeerDoor}. */
export interface PeerDoorLimits {
  /** Connections at once. */
  readonly connectionsMax: number;
  /** Of them, from one source address. */
  readonly connectionsPerSourceMax: number;
  /** Connections of one source address that have not yet proved who they are. */
  readonly strangersPerSourceMax: number;
  /** How long a connection may take to prove it, whatever it sends meanwhile. */
  readonly strangerMs: number;
}

/** Why a connection was ended: no room, no room for its source, a newer stranger in its place, or it proved nothing in time. */
const ENDINGS = ['full', 'source-full', 'gave-way', 'proved-nothing'] as const;
type Ending = (typeof ENDINGS)[number];

interface Peer {
  readonly key: string;
  readonly socket: Socket;
  readonly source: string;
  /** Runs while it is a stranger. */
  patience: NodeJS.Timeout | undefined;
}

interface Source {
  count: number;
  /** Oldest first. */
  readonly strangers: Set<Peer>;
}

/**
 * Who may be connected to a listener that asks its callers who they are. Whoever only opens connections, or sends calls
 * byte by byte, must not use up what others need: strangers have little time, little room for each source address, and give
 * way to newer ones, the oldest first; who has proved who it is gives way to nobody.
 */
export class PeerDoor {
  readonly #limits: PeerDoorLimits;
  readonly #peers = new Map<string, Peer>();
  readonly #sources = new Map<string, Source>();
  readonly #strangers = new Set<Peer>();
  readonly #endings: Record<Ending, number> = { full: 0, 'source-full': 0, 'gave-way': 0, 'proved-nothing': 0 };

  constructor(limits: PeerDoorLimits) {
    this.#limits = limits;
  }

  get connectionCount(): number {
    return this.#peers.size;
  }

  /** Takes a new connection, or destroys it. */
  letIn(socket: Socket): boolean {
    socket.on('error', () => undefined);
    const name = socket.remoteAddress ?? '';
    const source = this.#sources.get(name) ?? { count: 0, strangers: new Set<Peer>() };
    if (!this.#hasRoom(source)) {
      socket.destroy();
      return false;
    }
    const peer: Peer = { key: peerKeyOf(socket), socket, source: name, patience: undefined };
    peer.patience = setTimeout(() => this.#end(peer, 'proved-nothing'), this.#limits.strangerMs).unref();
    source.count += 1;
    source.strangers.add(peer);
    this.#sources.set(name, source);
    this.#strangers.add(peer);
    this.#peers.set(peer.key, peer);
    socket.once('close', () => this.#forget(peer));
    return true;
  }

  /** The connection from this address and port has proved who it is. */
  admit(peerKey: string): void {
    const peer = this.#peers.get(peerKey);
    if (peer === undefined) return;
    clearTimeout(peer.patience);
    this.#strangers.delete(peer);
    this.#sources.get(peer.source)?.strangers.delete(peer);
  }

  /** Destroys every connection. */
  closeAll(): void {
    for (const { socket } of this.#peers.values()) socket.destroy();
  }

  /** Registers how many connections there are, and how many were ended for which reason. */
  register(registry: Registry, prefix: string): void {
    const open: Gauge = new Gauge({ name: `${prefix}_connections`, help: 'Open connections.', registers: [registry], collect: () => open.set(this.#peers.size) });
    const strangers: Gauge = new Gauge({ name: `${prefix}_stranger_connections`, help: 'Open connections that have not proved who they are.', registers: [registry], collect: () => strangers.set(this.#strangers.size) });
    const ended: Counter<'reason'> = new Counter({
      name: `${prefix}_ended_connections_total`,
      help: 'Connections that were ended by the listener: no room, no room for the source, a newer one in their place, or nothing proved in time.',
      labelNames: ['reason'],
      registers: [registry],
      collect: () => {
        ended.reset();
        for (const reason of ENDINGS) ended.inc({ reason }, this.#endings[reason]);
      },
    });
  }

  #hasRoom(source: Source): boolean {
    const { connectionsMax, connectionsPerSourceMax, strangersPerSourceMax } = this.#limits;
    const [oldestOfSource] = source.strangers;
    const [oldest] = this.#strangers;
    if (source.strangers.size >= strangersPerSourceMax || source.count >= connectionsPerSourceMax) return this.#makeRoom(oldestOfSource, 'source-full');
    return this.#peers.size < connectionsMax || this.#makeRoom(oldest, 'full');
  }

  #makeRoom(stranger: Peer | undefined, otherwise: Ending): boolean {
    if (stranger === undefined) this.#endings[otherwise] += 1;
    else this.#end(stranger, 'gave-way');
    return stranger !== undefined;
  }

  #end(peer: Peer, ending: Ending): void {
    this.#endings[ending] += 1;
    this.#forget(peer);
    peer.socket.destroy();
  }

  #forget(peer: Peer): void {
    if (this.#peers.get(peer.key) !== peer) return;
    this.#peers.delete(peer.key);
    clearTimeout(peer.patience);
    this.#strangers.delete(peer);
    const source = this.#sources.get(peer.source);
    if (source === undefined) return;
    source.count -= 1;
    source.strangers.delete(peer);
    if (source.count === 0) this.#sources.delete(peer.source);
  }
}

/** How a {@link PeerDoor} knows a connection: by the address and port that it comes from. */
export const peerKeyOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string => `${remoteAddress ?? ''}:${remotePort ?? ''}`;
