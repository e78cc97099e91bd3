/** Says what takes long, on standard error: one line at the start, one each half minute, one at the end. */
export async function withProgress<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedMs = Date.now();
  const say = (text: string): void => {
    process.stderr.write(`testbed: ${what}: ${text}\n`);
  };
  say('started');
  const timer = setInterval(() => say(`${elapsedSeconds(startedMs)} s so far`), 30_000);
  try {
    const result = await work();
    say(`done in ${elapsedSeconds(startedMs)} s`);
    return result;
  } catch (error) {
    say(`failed after ${elapsedSeconds(startedMs)} s`);
    throw error;
  } finally {
    clearInterval(timer);
  }
}

const elapsedSeconds = (sinceMs: number): number => Math.round((Date.now() - sinceMs) / 1000);
