import type { Probe } from './pod-types.js';
import { runProbe, type ProbeTarget } from './run-probe.js';

/** How a probe is going. */
export interface ProbeEvents {
  /** It has passed successThreshold times in a row. */
  onPass(): void;
  /** It has failed failureThreshold times in a row, the last time for this reason. */
  onFail(reason: string): void;
}

/** How soon a probe that has never passed is tried again: a pod need not wait a whole period to be noticed. */
const EAGER_PERIOD_MS = 100;

/** Settings of a probe's loop. */
export interface ProbeLoopOptions {
  readonly probe: Probe;
  readonly target: ProbeTarget;
  /** True for readiness and startup: tried often until it passes for the first time. */
  readonly eager: boolean;
}

/** Runs a probe in its period until stopped; reports passes and failures by its thresholds. */
export function startProbeLoop(options: ProbeLoopOptions, events: ProbeEvents): () => void {
  const { probe } = options;
  const periodMs = (probe.periodSeconds ?? 10) * 1000;
  const startedMs = performance.now();
  const counts = { passes: 0, failures: 0, everPassed: false };
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const nextDelayMs = (): number => (options.eager && !counts.everPassed ? Math.min(EAGER_PERIOD_MS, periodMs) : periodMs);
  const tick = async (): Promise<void> => {
    const reason = await runProbe(probe, options.target);
    if (stopped) return;
    if (reason === undefined) countPass();
    else countFailure(reason);
    if (!stopped) timer = setTimeout(() => void tick(), nextDelayMs());
  };
  const countPass = (): void => {
    counts.everPassed = true;
    counts.failures = 0;
    counts.passes += 1;
    if (counts.passes === (probe.successThreshold ?? 1)) events.onPass();
  };
  const countFailure = (reason: string): void => {
    counts.passes = 0;
    // While it is tried eagerly, failures count by the time that they would have taken in its own period.
    counts.failures = options.eager && !counts.everPassed ? Math.floor((performance.now() - startedMs) / periodMs) + 1 : counts.failures + 1;
    if (counts.failures >= (probe.failureThreshold ?? 3)) events.onFail(reason);
  };
  timer = setTimeout(() => void tick(), (probe.initialDelaySeconds ?? 0) * 1000);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
