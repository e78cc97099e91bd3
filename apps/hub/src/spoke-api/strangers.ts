/** A connection that can be watched and ended. */
export interface StrangerConnection {
  once(event: 'close', listener: () => void): unknown;
  destroy(): unknown;
}

/**
 * Connections that have not yet brought a call that was admitted. They are ended after a time, whatever they send meanwhile:
 * who only opens connections, or sends calls byte by byte, must not use up what members need.
 */
export class Strangers {
  readonly #timers = new Map<StrangerConnection, NodeJS.Timeout>();
  constructor(private readonly patienceMs: number) {}

  /** A connection was opened. */
  add(connection: StrangerConnection): void {
    const timer = setTimeout(() => connection.destroy(), this.patienceMs).unref();
    this.#timers.set(connection, timer);
    connection.once('close', () => this.#forget(connection));
  }

  /** A connection has brought a call that was admitted. */
  admit(connection: StrangerConnection | undefined): void {
    if (connection !== undefined) this.#forget(connection);
  }

  #forget(connection: StrangerConnection): void {
    clearTimeout(this.#timers.get(connection));
    this.#timers.delete(connection);
  }
}
