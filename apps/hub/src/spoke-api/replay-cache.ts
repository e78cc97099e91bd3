/** Token ids seen, until each token would be too old anyway. Bounded: a full cache refuses rather than forgets. */
export class ReplayCache {
  readonly #expiryByJti = new Map<string, number>();
  readonly #sizeMax: number;
  #sweptAtMs = 0;
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#expiryByJti.size;
  }

  /** Takes note of an id: `new`, `seen` before, or `full` where there is no room to remember it. */
  admit(jti: string, expiresAtMs: number, nowMs: number): 'new' | 'seen' | 'full' {
    this.#sweep(nowMs);
    if (this.#expiryByJti.has(jti)) return 'seen';
    if (this.#expiryByJti.size >= this.#sizeMax) return 'full';
    this.#expiryByJti.set(jti, expiresAtMs);
    return 'new';
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAtMs < SWEEP_EVERY_MS && this.#expiryByJti.size < this.#sizeMax) return;
    this.#sweptAtMs = nowMs;
    for (const [jti, expiresAtMs] of this.#expiryByJti) if (expiresAtMs < nowMs) this.#expiryByJti.delete(jti);
  }
}

const SWEEP_EVERY_MS = 10_000;
