import { ConfigError } from './config.js';

/** A started process: what to stop, in reverse order of start. */
export interface RunningProcess {
  stop(): Promise<void>;
  /** For a task: ends the process with 0 when it resolves, with 1 when it rejects. A process without it runs until a signal. */
  readonly finished?: Promise<void>;
  /** Resolves with a sentence where the process cannot go on: it is stopped in order, and ends with 1. */
  readonly failed?: Promise<string>;
}

/** Longest time that an orderly stop may take before the process ends anyway. */
export const STOP_DEADLINE_MS = 10_000;

/**
 * Runs a process until SIGTERM or SIGINT: starts it, prints every configuration problem and exits 1 where there are any,
 * stops it in order on a signal and ends with 0, or with 1 when the stop misses its deadline. A second signal ends it at once.
 */
export async function runProcess(start: () => Promise<RunningProcess>): Promise<void> {
  let running: RunningProcess;
  try {
    running = await start();
  } catch (error) {
    const text = error instanceof ConfigError ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
  let stopping = false;
  const end = (code: 0 | 1): void => {
    stopping = true;
    const deadline = setTimeout(() => process.exit(1), STOP_DEADLINE_MS);
    deadline.unref();
    running.stop().then(
      () => process.exit(code),
      (error: unknown) => {
        process.stderr.write(`stop failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  const stop = (): void => {
    if (stopping) process.exit(1);
    // A task that is stopped has not done what it was for.
    end(running.finished === undefined ? 0 : 1);
  };
  running.finished?.then(
    () => end(0),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      end(1);
    },
  );
  void running.failed?.then((why) => {
    if (stopping) return;
    process.stderr.write(`${why}\n`);
    end(1);
  });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
