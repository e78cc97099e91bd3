import type { BackendName, ClusterId } from '#domain/fleet';

interface Touch {
  readonly sequence: bigint;
  readonly name: BackendName;
}

// The list may hold this many touches beyond one for each name before it is cut down to the latest of each.
const SLACK = 10_000;

/** When each backend was last touched, so that "what since n" costs what was touched since n. */
export class TouchLog {
  #floor: bigint;
  /** In the order of their numbers; a name may be there several times, its last one counts. */
  #touches: Touch[] = [];
  #allAt = -1n;
  #pathsAt = -1n;
  readonly #consumerAt = new Map<ClusterId, bigint>();

  /** `floor`: the number up to which touches are unknown. */
  constructor(floor: bigint) {
    this.#floor = floor;
  }

  touch(sequence: bigint, name: BackendName): void {
    this.#touches.push({ sequence, name });
  }

  touchAll(sequence: bigint): void {
    this.#allAt = sequence;
  }

  touchConsumer(sequence: bigint, consumer: ClusterId): void {
    this.#consumerAt.set(consumer, sequence);
  }

  /** The ways between members may differ from here on. */
  touchPaths(sequence: bigint): void {
    this.#pathsAt = sequence;
  }

  /** Whether the ways between members may differ since a number. */
  havePathsMoved(sequence: bigint): boolean {
    return sequence < this.#floor || this.#pathsAt > sequence;
  }

  /** Names touched after a number, `all`, or undefined where the number lies before what is known. */
  since(sequence: bigint, consumer: ClusterId): ReadonlySet<BackendName> | 'all' | undefined {
    if (sequence < this.#floor) return undefined;
    if (this.#allAt > sequence || (this.#consumerAt.get(consumer) ?? -1n) > sequence) return 'all';
    const names = new Set<BackendName>();
    for (let at = this.#touches.length - 1; at >= 0; at -= 1) {
      const touch = this.#touches[at];
      if (touch === undefined || touch.sequence <= sequence) break;
      names.add(touch.name);
    }
    return names;
  }

  /** Bounds the list: keeps the latest touch of each name, and of names only as many as there may be news for. */
  compact(nameCount: number): void {
    if (this.#touches.length <= nameCount * 2 + SLACK) return;
    const latest = new Map<BackendName, Touch>();
    for (const touch of this.#touches) {
      latest.delete(touch.name);
      latest.set(touch.name, touch);
    }
    const kept = [...latest.values()];
    const dropped = kept.splice(0, Math.max(0, kept.length - nameCount - SLACK)).at(-1);
    if (dropped !== undefined && dropped.sequence > this.#floor) this.#floor = dropped.sequence;
    this.#touches = kept;
  }
}
