import { importedBackendVersion, memberPathsVersion } from '#contracts/spoke-api';
import type { BackendName, ClusterId, FleetView, ImportedBackend, ImportSet, MemberPaths } from '#domain/fleet';

import type { FleetFold } from '../fleet-view/fleet-fold.js';
import type { ToldState } from './sync-ledger.js';

/** The planning functions of #domain/sameness. */
export interface FleetPlanner {
  readonly planFleet: (view: FleetView, consumer: ClusterId) => ImportSet;
  readonly planBackend: (view: FleetView, consumer: ClusterId, name: BackendName) => ImportedBackend | undefined;
  readonly planPaths: (view: FleetView, member: ClusterId) => MemberPaths;
}

/** One backend to tell, with its content version. */
export interface VersionedBackend {
  readonly backend: ImportedBackend;
  readonly version: string;
  /** The place of the consumer's own part in the first-seen order; undefined where it has none. */
  readonly firstSeen: bigint | undefined;
}

/** A member's paths, with their content version. */
export interface VersionedPaths {
  readonly paths: MemberPaths;
  readonly version: string;
}

/** What a Sync answers, and what the consumer has after it. */
export interface SyncPlan {
  readonly full: boolean;
  readonly complete: boolean;
  readonly changed: readonly VersionedBackend[];
  readonly removed: readonly BackendName[];
  /** Where they changed. */
  readonly paths: VersionedPaths | undefined;
  readonly told: ToldState;
}

/** Where a consumer stands: its cursor, and what this replica knows of what it has. */
export interface ConsumerState {
  readonly consumer: ClusterId;
  readonly cursor: { readonly epoch: string; readonly sequence: bigint } | undefined;
  readonly told: ToldState | undefined;
}

/** The answer that brings a consumer from its cursor to the fold's number. */
export function planSync(fold: FleetFold, planner: FleetPlanner, state: ConsumerState): SyncPlan {
  const { consumer, cursor, told } = state;
  const touched = cursor?.epoch === fold.epoch ? fold.touchedSince(cursor.sequence, consumer) : undefined;
  if (touched === undefined) return planFull(fold, planner, consumer);
  const names = touched === 'all' ? allNames(fold, told) : touched;
  return planDelta(fold, planner, { consumer, told, names, pathsMoved: fold.havePathsMoved(cursor?.sequence ?? 0n) }) ?? planFull(fold, planner, consumer);
}

function planFull(fold: FleetFold, planner: FleetPlanner, consumer: ClusterId): SyncPlan {
  const changed = planner.planFleet(fold.view, consumer).backends.map((backend) => versioned(fold, consumer, backend));
  const versions = new Map(changed.map(({ backend, version }) => [backend.name, version]));
  const paths = versionedPaths(fold, planner, consumer);
  const told = { epoch: fold.epoch, sequence: fold.sequence, mark: fold.mark, versions, pathsVersion: paths.version, isWhole: true };
  return { full: true, complete: isComplete(fold.view), changed, removed: [], paths, told };
}

function versioned(fold: FleetFold, consumer: ClusterId, backend: ImportedBackend): VersionedBackend {
  const firstSeen = fold.view.parts.get(backend.name)?.find((part) => part.clusterId === consumer)?.firstSeenSequence;
  return { backend, version: importedBackendVersion(backend, firstSeen), firstSeen };
}

function versionedPaths(fold: FleetFold, planner: FleetPlanner, consumer: ClusterId): VersionedPaths {
  const paths = planner.planPaths(fold.view, consumer);
  return { paths, version: memberPathsVersion(paths) };
}

const allNames = (fold: FleetFold, told: ToldState | undefined): ReadonlySet<BackendName> => new Set([...fold.view.parts.keys(), ...(told?.versions.keys() ?? [])]);

interface DeltaScope {
  readonly consumer: ClusterId;
  readonly told: ToldState | undefined;
  readonly names: ReadonlySet<BackendName>;
  readonly pathsMoved: boolean;
}

/** Undefined where only a full state is sure to be right, and tells a consumer of no backend that it may not know of. */
function planDelta(fold: FleetFold, planner: FleetPlanner, scope: DeltaScope): SyncPlan | undefined {
  const { consumer, told, names } = scope;
  const had: ReadonlyMap<BackendName, string> = told?.versions ?? new Map();
  const changed: VersionedBackend[] = [];
  const removed: BackendName[] = [];
  for (const name of [...names].sort()) {
    const backend = planner.planBackend(fold.view, consumer, name);
    if (backend === undefined) {
      if (had.has(name)) removed.push(name);
      // The consumer may have it from another replica, or may never have been allowed to hear of it.
      else if (told?.isWhole !== true) return undefined;
      continue;
    }
    const now = versioned(fold, consumer, backend);
    if (had.get(name) !== now.version) changed.push(now);
  }
  const versions = versionsAfter(had, changed, removed);
  const paths = scope.pathsMoved ? versionedPaths(fold, planner, consumer) : undefined;
  return { full: false, complete: false, changed, removed, ...settlePaths(paths, told), told: toldNow(fold, { versions, told, paths }) };
}

const settlePaths = (paths: VersionedPaths | undefined, told: ToldState | undefined): Pick<SyncPlan, 'paths'> => ({ paths: paths?.version === told?.pathsVersion ? undefined : paths });

function toldNow(fold: FleetFold, { versions, told, paths }: { readonly versions: ToldState['versions']; readonly told: ToldState | undefined; readonly paths: VersionedPaths | undefined }): ToldState {
  return { epoch: fold.epoch, sequence: fold.sequence, mark: fold.mark, versions, pathsVersion: paths?.version ?? told?.pathsVersion, isWhole: told?.isWhole ?? false };
}

// Where nothing changed the same map goes on: most waiting consumers are woken by what does not concern them.
function versionsAfter(had: ReadonlyMap<BackendName, string>, changed: readonly VersionedBackend[], removed: readonly BackendName[]): ReadonlyMap<BackendName, string> {
  if (changed.length === 0 && removed.length === 0) return had;
  const versions = new Map(had);
  for (const { backend, version } of changed) versions.set(backend.name, version);
  for (const name of removed) versions.delete(name);
  return versions;
}

// A member that is judged stale has nothing more to tell that a consumer should wait for.
function isComplete(view: FleetView): boolean {
  return [...view.members.values()].every((member) => member.firstListComplete || member.freshness === 'stale');
}
