import { memberBackendDigest, reportDigest, type BackendName, type MemberBackend } from '#domain/fleet';
import type { HubReport, SyncCursor } from '#ports';

/** What the hub accepted last: content digest by backend name. */
export type Accepted = ReadonlyMap<BackendName, string>;

/** A report to send, and what the hub will have accepted once it answers. */
export interface PreparedReport {
  readonly report: HubReport;
  readonly accepted: Accepted;
}

// Plans keep the object of a backend that did not change, so its digest is made once.
const digests = new WeakMap<MemberBackend, string>();

function digestOf(backend: MemberBackend): string {
  const known = digests.get(backend);
  if (known !== undefined) return known;
  const made = memberBackendDigest(backend);
  digests.set(backend, made);
  return made;
}

/** The report that leads from what the hub accepted to what is now; undefined `accepted` makes it full. */
export function prepareReport(backends: readonly MemberBackend[], accepted: Accepted | undefined, applied: SyncCursor | undefined): PreparedReport {
  const current = new Map(backends.map((backend) => [backend.name, digestOf(backend)]));
  const changed = accepted === undefined ? backends : backends.filter((backend) => accepted.get(backend.name) !== current.get(backend.name));
  const removed = accepted === undefined ? [] : [...accepted.keys()].filter((name) => !current.has(name));
  return { report: { full: accepted === undefined, changed, removed, digest: reportDigest(current), applied }, accepted: current };
}

/** The report that says only that the spoke lives, and what the hub last accepted of it. */
export function heartbeat(accepted: Accepted, applied: SyncCursor | undefined): PreparedReport {
  return { report: { full: false, changed: [], removed: [], digest: reportDigest(accepted), applied }, accepted };
}

/** Whether a report says nothing new and is a heartbeat. */
export const isHeartbeat = (report: HubReport): boolean => !report.full && report.changed.length === 0 && report.removed.length === 0;
