import type { FirstSeenPlaces } from '#domain/fleet';
import type { Clock, HubLink, HubReport, HubReportAnswer, SpokeIdentity } from '#ports';

import type { Backoff } from '../backoff.js';
import type { Wake } from '../wake.js';
import { heartbeat, isHeartbeat, prepareReport, type Accepted, type PreparedReport, type Reportable } from './report-ledger.js';

/**
 * What a replica may say: `write` holds the lease; `heartbeat` held it and cannot reach the API server to renew it, so it says
 * that it lives, not what it sees; `silent` is another replica's standby.
 */
export type ReportVoice = 'write' | 'heartbeat' | 'silent';

/** What the report loop needs. */
export interface ReportLoopParts {
  readonly link: HubLink;
  readonly clock: Clock;
  readonly backoff: Backoff;
  /** Rung when something to report may have changed, or when the hub was seen alive. */
  readonly wake: Wake;
  readonly identity: () => SpokeIdentity;
  /** The latest state, or undefined while nothing may be said: before the first lists are complete (C74). */
  readonly current: () => Reportable | undefined;
  readonly voice: () => ReportVoice;
  /** The places that hubs have given this cluster's own definitions. */
  readonly firstSeen: () => FirstSeenPlaces;
  /** Heartbeat interval until the hub asks for another. */
  readonly intervalMs: number;
  readonly onSuccess: () => void;
  readonly onFailure: (error: unknown) => void;
}

interface ReportState {
  accepted: Accepted | undefined;
  /** Monotonic time of the next heartbeat. */
  dueMs: number;
  intervalMs: number;
}

/** Reports changes at once and a heartbeat at the interval that the hub asks for, until `signal` aborts. */
export async function runReportLoop(parts: ReportLoopParts, signal: AbortSignal): Promise<void> {
  const state: ReportState = { accepted: undefined, dueMs: 0, intervalMs: parts.intervalMs };
  while (!signal.aborted) {
    const waitMs = await step(parts, state);
    await parts.wake.sleep(parts.clock, waitMs, signal);
  }
}

/** Sends what is due, and returns how long to wait for the next. */
async function step(parts: ReportLoopParts, state: ReportState): Promise<number> {
  const prepared = nextReport(parts, state);
  if (prepared !== undefined) {
    try {
      accept(parts, state, prepared, await parts.link.report(parts.identity(), withPlaces(prepared.report, parts.firstSeen)));
    } catch (error) {
      // What the hub took of a failed call is unknown; the next one says the same again.
      parts.onFailure(error);
      return parts.backoff.nextMs();
    }
  } else if (parts.clock.monotonicMs() >= state.dueMs) {
    state.dueMs = parts.clock.monotonicMs() + state.intervalMs;
  }
  return Math.max(0, state.dueMs - parts.clock.monotonicMs());
}

// Only what it defines now: a place of what is gone is of no use to anybody.
function withPlaces(report: HubReport, firstSeen: () => FirstSeenPlaces): HubReport {
  if (!report.full) return report;
  const places = firstSeen();
  return { ...report, firstSeen: new Map(report.changed.flatMap(({ name }) => (places.has(name) ? [[name, places.get(name) ?? 0n] as const] : []))) };
}

function nextReport(parts: ReportLoopParts, state: ReportState): PreparedReport | undefined {
  const isDue = parts.clock.monotonicMs() >= state.dueMs;
  const current = parts.current();
  switch (parts.voice()) {
    case 'silent':
      // Whoever speaks next must not build on what another replica may have said meanwhile.
      state.accepted = undefined;
      return undefined;
    case 'heartbeat':
      return isDue && state.accepted !== undefined ? heartbeat(state.accepted, current?.applied) : undefined;
    case 'write': {
      if (current === undefined) return undefined;
      const prepared = prepareReport(current, state.accepted);
      return isDue || !isHeartbeat(prepared.report) ? prepared : undefined;
    }
  }
}

function accept(parts: ReportLoopParts, state: ReportState, sent: PreparedReport, answer: HubReportAnswer): void {
  parts.backoff.reset();
  const resend = answer.resendFull && parts.voice() === 'write';
  state.accepted = resend ? undefined : sent.accepted;
  state.intervalMs = answer.intervalMs > 0 ? answer.intervalMs : parts.intervalMs;
  // A hub that is not content with a full report either is asked again at its interval, not in a tight loop.
  state.dueMs = parts.clock.monotonicMs() + (resend && !sent.report.full ? 0 : state.intervalMs);
  parts.onSuccess();
}
