import { CLUSTER_TYPE_URL, decodeCluster, decodeLoadAssignment, decodeResource, LOAD_ASSIGNMENT_TYPE_URL, type DeltaResponse } from '#contracts/envoy';
import { byKey, FleetError } from '#domain/fleet';
import type { XdsCluster, XdsLoadAssignment, XdsResource, XdsSnapshot } from '#domain/xds-snapshot';

/** What a client holds of a server's resources, as an immutable value: what did not change is shared with the state before. */
export interface ClientState {
  readonly clusters: ReadonlyMap<string, XdsCluster>;
  readonly loadAssignments: ReadonlyMap<string, XdsLoadAssignment>;
  /** Load assignments that the server said do not exist. */
  readonly absent: ReadonlySet<string>;
}

/** Before anything was received. */
export const EMPTY_STATE: ClientState = { clusters: new Map(), loadAssignments: new Map(), absent: new Set() };

/** Takes in one response, whole or not at all. Throws FleetError XDS_RESOURCE_INVALID, XDS_DUPLICATE_RESOURCE or XDS_TOO_MANY_RESOURCES: the reason for a NACK. */
export function receiveResponse(state: ClientState, response: DeltaResponse, clustersMax: number): ClientState {
  const envelopes = response.resources.map(decodeResource);
  const names = [...envelopes.map((envelope) => envelope.name), ...response.removed];
  const twice = new Set(names).size === names.length ? undefined : names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new FleetError('XDS_DUPLICATE_RESOURCE', 'bug', `resource ${twice} appears twice in one response`);
  const foreign = envelopes.find((envelope) => envelope.typeUrl !== response.typeUrl);
  if (foreign !== undefined) throw new FleetError('XDS_RESOURCE_INVALID', 'bug', `resource ${foreign.name} is a ${foreign.typeUrl} in a response of ${response.typeUrl}`);
  switch (response.typeUrl) {
    case CLUSTER_TYPE_URL:
      return { ...state, clusters: atMost(clustersMax, merged(state.clusters, envelopes.map(decodeCluster), response.removed)) };
    case LOAD_ASSIGNMENT_TYPE_URL: {
      const received = envelopes.map(decodeLoadAssignment);
      const absent = new Set([...state.absent, ...response.removed]);
      for (const { name } of received) absent.delete(name);
      return { ...state, loadAssignments: merged(state.loadAssignments, received, response.removed), absent };
    }
    default:
      throw new FleetError('XDS_RESOURCE_INVALID', 'bug', `nobody asked for ${response.typeUrl}`);
  }
}

/** Names of the load assignments that the state's clusters name, of those clusters that are wanted. */
export const wantedLoadAssignments = (state: ClientState, isWanted: (cluster: XdsCluster) => boolean = () => true): ReadonlySet<string> =>
  new Set([...state.clusters.values()].flatMap((cluster) => (isWanted(cluster) ? (cluster.edsServiceName ?? []) : [])));

/** Whether everything that the clusters name was received, or is known not to exist (warming is over). */
export const isComplete = (state: ClientState, wanted: ReadonlySet<string>): boolean => [...wanted].every((name) => state.loadAssignments.has(name) || state.absent.has(name));

/** The state without load assignments that no cluster names any more. */
export function withoutUnwanted(state: ClientState, wanted: ReadonlySet<string>): ClientState {
  if (state.loadAssignments.size + state.absent.size <= wanted.size && [...state.loadAssignments.keys()].every((name) => wanted.has(name))) return state;
  return { ...state, loadAssignments: new Map([...state.loadAssignments].filter(([name]) => wanted.has(name))), absent: new Set([...state.absent].filter((name) => wanted.has(name))) };
}

/** The state after asking for these names: whether they exist is open again. */
export function asking(state: ClientState, names: readonly string[]): ClientState {
  if (!names.some((name) => state.absent.has(name))) return state;
  const absent = new Set(state.absent);
  for (const name of names) absent.delete(name);
  return { ...state, absent };
}

/** Versions by name, as a reconnecting client tells them. */
export const versionsOf = (resources: ReadonlyMap<string, XdsResource>): Record<string, string> => Object.fromEntries([...resources.values()].map(({ name, version }) => [name, version]));

/** The state as the snapshot that shells read. */
export const snapshotOf = (state: ClientState): XdsSnapshot => ({ clusters: sorted(state.clusters), loadAssignments: sorted(state.loadAssignments) });

/** Resources that did not change between two states are the same list in both snapshots. */
const sortedOnce = new WeakMap<ReadonlyMap<string, XdsResource>, readonly XdsResource[]>();

function sorted<T extends XdsResource>(resources: ReadonlyMap<string, T>): readonly T[] {
  const known = sortedOnce.get(resources) as readonly T[] | undefined;
  if (known !== undefined) return known;
  const list = [...resources.values()].sort(byKey((resource) => resource.name));
  sortedOnce.set(resources, list);
  return list;
}

function atMost<T>(max: number, resources: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  if (resources.size <= max) return resources;
  throw new FleetError('XDS_TOO_MANY_RESOURCES', 'bug', `${resources.size} clusters are more than the ${max} that this client takes`);
}

function merged<T extends XdsResource>(before: ReadonlyMap<string, T>, received: readonly T[], removed: readonly string[]): ReadonlyMap<string, T> {
  const fresh = received.filter((resource) => before.get(resource.name)?.version !== resource.version);
  const gone = removed.filter((name) => before.has(name));
  if (fresh.length + gone.length === 0) return before;
  const after = new Map(before);
  for (const resource of fresh) after.set(resource.name, resource);
  for (const name of gone) after.delete(name);
  return after;
}
