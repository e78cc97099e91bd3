/** Waits for a state by asking again; fails with the name of the state and the last thing seen. */
export async function until(state: string, isSo: () => Promise<boolean> | boolean, timeoutMs = 60_000, everyMs = 100): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    if (await isSo()) return;
    if (performance.now() > deadlineMs) throw new Error(`not so after ${timeoutMs / 1000} s: ${state}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
