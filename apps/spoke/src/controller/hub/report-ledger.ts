import { memberBackendDigest, reachDigest, reportDigest, type BackendName, type HeldGatewayPort, type MemberBackend, type MemberReach } from '#domain/fleet';
import type { HubReport, SyncCursor } from '#ports';

/** What the hub accepted last. */
export interface Accepted {
  /** Content digest by backend name. */
  readonly backends: ReadonlyMap<BackendName, string>;
  readonly reachDigest: string;
}

/** What there is to report now. */
export interface Reportable {
  readonly backends: readonly MemberBackend[];
  readonly reach: MemberReach;
  /** What the gateway nodes serve now. */
  readonly gatewayPorts: readonly HeldGatewayPort[];
  /** The import state that the data plane was last built from. */
  readonly applied: SyncCursor | undefined;
}

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

const reachDigests = new WeakMap<MemberReach, string>();

function digestOfReach(reach: MemberReach): string {
  const digest = reachDigests.get(reach) ?? reachDigest(reach);
  reachDigests.set(reach, digest);
  return digest;
}

/** The report that leads from what the hub accepted to what is now; undefined `accepted` makes it full. */
export function prepareReport({ backends, reach, gatewayPorts, applied }: Reportable, accepted: Accepted | undefined): PreparedReport {
  const current = { backends: new Map(backends.map((backend) => [backend.name, digestOf(backend)])), reachDigest: digestOfReach(reach) };
  const full = accepted === undefined;
  const changed = full ? backends : backends.filter((backend) => accepted.backends.get(backend.name) !== current.backends.get(backend.name));
  const removed = full ? [] : [...accepted.backends.keys()].filter((name) => !current.backends.has(name));
  const isMoved = accepted?.reachDigest !== current.reachDigest;
  const reachReport = { digest: current.reachDigest, changed: isMoved ? reach : undefined, gatewayPorts: full ? gatewayPorts : [] };
  return { report: { full, changed, removed, digest: reportDigest(current.backends), applied, reach: reachReport }, accepted: current };
}

/** The report that says only that the spoke lives, and what the hub last accepted of it. */
export function heartbeat(accepted: Accepted, applied: SyncCursor | undefined): PreparedReport {
  const reach = { digest: accepted.reachDigest, changed: undefined, gatewayPorts: [] };
  return { report: { full: false, changed: [], removed: [], digest: reportDigest(accepted.backends), applied, reach }, accepted };
}

/** Whether a report says nothing new and is a heartbeat. */
export const isHeartbeat = ({ full, changed, removed, reach }: HubReport): boolean => !full && changed.length === 0 && removed.length === 0 && reach?.changed === undefined;
