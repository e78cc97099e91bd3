/** Waits for a state by asking again; fails with the name of the state. */
export async function until(state: string, isSo: () => Promise<boolean> | boolean, timeoutMs = 60_000, everyMs = 100): Promise<void> {
  await readUntil({ state, read: isSo, holds: (is) => is, timeoutMs, everyMs });
}

/** Reads again until the value holds, and returns it; fails with the name of the state and the value seen last. */
export async function eventually<T>(state: string, read: () => Promise<T> | T, holds: (value: T) => boolean, timeoutMs = 20_000): Promise<T> {
  return readUntil({ state, read, holds, timeoutMs, everyMs: 25 });
}

interface Wait<T> {
  readonly state: string;
  readonly read: () => Promise<T> | T;
  readonly holds: (value: T) => boolean;
  readonly timeoutMs: number;
  readonly everyMs: number;
}

async function readUntil<T>({ state, read, holds, timeoutMs, everyMs }: Wait<T>): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    if (performance.now() > deadlineMs) throw new Error(`not so after ${timeoutMs / 1000} s: ${state}; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
