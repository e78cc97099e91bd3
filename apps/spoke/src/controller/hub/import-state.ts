import { byKey, type BackendName, type ClusterId, type ImportedBackend, type ImportedProvider, type ImportSet, type MemberPaths } from '#domain/fleet';
import type { HubSync, SyncCursor } from '#ports';

import { coversPaths, joinPaths, withoutWithdrawn } from './held-paths.js';

/** One named resource as the hub told it. */
export interface ToldResource {
  readonly version: string;
  readonly backend: ImportedBackend;
}

/** Resources by name. */
export type ToldResources = ReadonlyMap<string, ToldResource>;

/**
 * What this cluster knows of the rest of the fleet. `told` is what the hub said under the cursor's epoch. `held` is what we
 * knew before a new epoch, or before a full state that was not complete: nothing of it goes merely because the newer word
 * does not name it (design.md §4: an empty hub never empties a data plane).
 */
export interface ImportState {
  /** The member that this was told to: plans need to know which provider is their own, even where the identity is lost. */
  readonly consumer: ClusterId | undefined;
  readonly cursor: SyncCursor | undefined;
  readonly told: ToldResources;
  /** The ways to and from other members; undefined where the hub says nothing of them, as older ones do. */
  readonly paths: MemberPaths | undefined;
  /** Whether `told` began with a full state in which every member had finished its first list. */
  readonly complete: boolean;
  readonly held: HeldImports | undefined;
  /** When hubs first saw what this cluster itself defines: a hub that has lost its database learns it from us. */
  readonly firstSeen: OwnPlaces;
}

/** Places of this cluster's own definitions in the first-seen order, each with the epoch that told it last. */
export type OwnPlaces = ReadonlyMap<BackendName, { readonly place: bigint; readonly epoch: string }>;

/** Knowledge from before, and how long its absence from the newer word is no evidence. */
export interface HeldImports {
  readonly resources: ToldResources;
  readonly paths: MemberPaths | undefined;
  /** Epoch ms; undefined until a complete full state has come. */
  readonly untilMs: number | undefined;
}

/** Before the first word of any hub. */
export const NO_IMPORTS: ImportState = { consumer: undefined, cursor: undefined, told: new Map(), paths: undefined, complete: false, held: undefined, firstSeen: new Map() };

/** Folds one answer of Sync into the state. */
export function applySync(state: ImportState, sync: HubSync, settle: Settle): ImportState {
  const next = sync.full ? applyFull(state, sync, settle) : { ...applyDelta(state, sync), consumer: settle.consumer };
  return { ...next, firstSeen: placesAfter(state.firstSeen, sync) };
}

/** Whether something is held that only a complete full state can settle: the hub is asked for one. */
export const needsFull = (state: ImportState): boolean => state.held !== undefined && state.held.untilMs === undefined;

/** The state as it may be started from: what is still open makes the next start ask for everything. */
export function restartableState(state: ImportState): ImportState {
  return state.held === undefined ? state : { ...state, cursor: undefined, told: effectiveResources(state), paths: effectivePaths(state), complete: false, held: undefined };
}

/** Lets go of what was held once its time is over. */
export function releaseHeld(state: ImportState, nowMs: number): ImportState {
  const untilMs = state.held?.untilMs;
  return untilMs !== undefined && nowMs >= untilMs ? { ...state, held: undefined } : state;
}

/** What plans use, sorted by backend name. */
export function effectiveImports(state: ImportState): ImportSet {
  return { backends: [...effectiveResources(state).values()].map((resource) => resource.backend).sort(byKey((backend) => backend.name)) };
}

/** The ways to and from other members that plans use. */
export const effectivePaths = (state: ImportState): MemberPaths | undefined => (state.held === undefined ? state.paths : joinPaths(state.held.paths, state.paths));

interface Settle {
  readonly consumer: ClusterId;
  readonly nowMs: number;
  readonly graceMs: number;
}

function applyFull(state: ImportState, sync: HubSync, settle: Settle): Omit<ImportState, 'firstSeen'> {
  const told = new Map(sync.changed.map(({ name, version, backend }) => [name, { version, backend }]));
  const paths = sync.paths?.paths;
  const next = { consumer: settle.consumer, cursor: sync.cursor, told, paths, complete: sync.complete };
  if (sync.complete && state.cursor?.epoch === sync.cursor.epoch) return { ...next, held: heldAfterComplete(state, { told, paths }, settle) };
  const resources = effectiveResources(state);
  const pathsBefore = effectivePaths(state);
  // Nothing is at stake where the newer word names everything that we know.
  if ([...resources].every(([name, resource]) => covers(told.get(name), resource)) && coversPaths(paths, pathsBefore)) return { ...next, held: undefined };
  return { ...next, held: { resources, paths: pathsBefore, untilMs: sync.complete ? settle.nowMs + settle.graceMs : undefined } };
}

// A hub that does not give a place takes back only what its own epoch gave: before our first report it has none to give.
function placesAfter(before: OwnPlaces, { cursor: { epoch }, full, changed, removed }: HubSync): OwnPlaces {
  const given = changed.flatMap(({ backend, firstSeen }) => (firstSeen === undefined ? [] : [[backend.name, { place: firstSeen, epoch }] as const]));
  const names = new Map(given);
  const silent = new Set([...changed.map(({ name }) => name), ...removed]);
  const isTakenBack = (name: BackendName): boolean => before.get(name)?.epoch === epoch && !names.has(name) && (full || silent.has(`backend/${name}`));
  const taken = [...before.keys()].filter(isTakenBack);
  const isSame = taken.length === 0 && given.every(([name, { place }]) => before.get(name)?.place === place && before.get(name)?.epoch === epoch);
  if (isSame) return before;
  const after = new Map([...before, ...given]);
  for (const name of taken) after.delete(name);
  return after;
}

// Within one epoch a complete state is everything: what it named before and names no more is withdrawn. What is held from
// before that epoch stays for its time.
function heldAfterComplete(state: ImportState, { told, paths }: Pick<ImportState, 'told' | 'paths'>, { nowMs, graceMs }: Settle): HeldImports | undefined {
  if (state.held === undefined) return undefined;
  const resources = new Map(state.held.resources);
  for (const [name, before] of state.told) {
    const after = told.get(name);
    if (after === undefined) resources.delete(name);
    else forgetWithdrawn(resources, name, before.backend, after.backend);
  }
  return { resources, paths: withoutWithdrawn(state.held.paths, state.paths, paths), untilMs: state.held.untilMs ?? nowMs + graceMs };
}

function covers(told: ToldResource | undefined, held: ToldResource): boolean {
  const ids = new Set(told?.backend.providers.map((provider) => provider.clusterId));
  return told !== undefined && held.backend.providers.every((provider) => ids.has(provider.clusterId));
}

function applyDelta(state: ImportState, sync: HubSync): ImportState {
  const paths = sync.paths?.paths ?? state.paths;
  if (sync.changed.length === 0 && sync.removed.length === 0) return { ...state, cursor: sync.cursor, paths, held: heldBeside(state, { paths }) };
  const told = new Map(state.told);
  const heldResources = state.held === undefined ? undefined : new Map(state.held.resources);
  for (const { name, version, backend } of sync.changed) {
    const before = told.get(name);
    if (before !== undefined && heldResources !== undefined) forgetWithdrawn(heldResources, name, before.backend, backend);
    told.set(name, { version, backend });
  }
  for (const name of sync.removed) {
    // The newer word named it and takes it back: that is evidence, unlike absence.
    if (told.delete(name)) heldResources?.delete(name);
  }
  return { ...state, cursor: sync.cursor, told, paths, held: heldBeside(state, { paths, resources: heldResources }) };
}

function heldBeside({ held, paths: before }: ImportState, { paths, resources }: { readonly paths: MemberPaths | undefined; readonly resources?: ToldResources | undefined }): HeldImports | undefined {
  if (held === undefined) return undefined;
  const kept = withoutWithdrawn(held.paths, before, paths);
  return resources === undefined && kept === held.paths ? held : { ...held, resources: resources ?? held.resources, paths: kept };
}

function forgetWithdrawn(held: Map<string, ToldResource>, name: string, before: ImportedBackend, after: ImportedBackend): void {
  const resource = held.get(name);
  if (resource === undefined) return;
  const still = new Set(after.providers.map((provider) => provider.clusterId));
  const withdrawn = new Set(before.providers.map((provider) => provider.clusterId).filter((id) => !still.has(id)));
  if (withdrawn.size === 0) return;
  const providers = resource.backend.providers.filter((provider) => !withdrawn.has(provider.clusterId));
  held.set(name, { ...resource, backend: { ...resource.backend, providers } });
}

function effectiveResources(state: ImportState): ToldResources {
  if (state.held === undefined) return state.told;
  const merged = new Map(state.told);
  for (const [name, resource] of state.held.resources) {
    const told = state.told.get(name);
    merged.set(name, told === undefined ? resource : overlay(resource, told));
  }
  return merged;
}

// Shares of the newer word sum to 10,000 over the providers it knows. While it lacks one that we hold, the older split
// stays in force, over the newest endpoints of each provider.
function overlay(held: ToldResource, told: ToldResource): ToldResource {
  if (covers(told, held)) return told;
  const newest = new Map<string, ImportedProvider>(told.backend.providers.map((provider) => [provider.clusterId, provider]));
  const providers = held.backend.providers.map((provider) => newest.get(provider.clusterId) ?? provider);
  return { version: `${held.version}+${told.version}`, backend: { ...held.backend, providers } };
}
