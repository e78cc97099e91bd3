import { isSameData, type Problem } from '#domain/fleet';
import { frontendKey } from '#domain/routing-plan';

import type { XdsCluster, XdsFrontend, XdsListenerUse, XdsLoadAssignment, XdsLocality, XdsSnapshot } from './xds-resources.js';

const WEIGHT_SUM_MAX = 4_294_967_295;
const PRIORITY_MAX = 128;

/** Everything that a client would refuse in a snapshot, or could not read a plan from. Empty for every rendered valid plan. */
export function snapshotProblems(snapshot: XdsSnapshot): readonly Problem[] {
  const assigned = new Set(snapshot.loadAssignments.map((assignment) => assignment.name));
  const named = new Set(snapshot.clusters.map((cluster) => cluster.edsServiceName));
  return [
    ...duplicateProblems('clusters', 'CLUSTER', snapshot.clusters.map((cluster) => cluster.name)),
    ...duplicateProblems('loadAssignments', 'LOAD_ASSIGNMENT', snapshot.loadAssignments.map((assignment) => assignment.name)),
    ...snapshot.clusters.flatMap((cluster) => missingAssignmentProblems(cluster, assigned)),
    ...snapshot.loadAssignments.filter((assignment) => !named.has(assignment.name)).map(unreferencedProblem),
    ...snapshot.loadAssignments.flatMap(localityProblems),
    ...snapshot.loadAssignments.flatMap(endpointProblems),
    ...frontendProblems(snapshot.clusters),
  ];
}

const problem = (path: string, code: string, message: string): Problem => ({ path, code: `XDS_${code}`, message });

function duplicateProblems(path: string, noun: string, names: readonly string[]): Problem[] {
  const seen = new Set<string>();
  return names.flatMap((name) => {
    const isDuplicate = seen.has(name);
    seen.add(name);
    return isDuplicate ? [problem(`${path}[${name}]`, `${noun}_DUPLICATE`, `${name} appears twice; give each resource its own name`)] : [];
  });
}

const missingAssignmentProblems = ({ name, edsServiceName }: XdsCluster, assigned: ReadonlySet<string>): Problem[] =>
  edsServiceName === undefined || assigned.has(edsServiceName)
    ? []
    : [problem(`clusters[${name}].edsServiceName`, 'LOAD_ASSIGNMENT_MISSING', `cluster ${name} names the load assignment ${edsServiceName}, which is not in the snapshot; add it, empty if need be`)];

const unreferencedProblem = ({ name }: XdsLoadAssignment): Problem =>
  problem(`loadAssignments[${name}]`, 'LOAD_ASSIGNMENT_UNREFERENCED', `no cluster names the load assignment ${name}; remove it, or add its cluster`);

function localityProblems({ name, localities }: XdsLoadAssignment): Problem[] {
  const path = `loadAssignments[${name}].localities`;
  const keys = localities.map((locality) => `${locality.priority}/${locality.region}/${locality.zone}/${locality.subZone}`);
  const priorities = new Set(localities.map((locality) => locality.priority));
  return [
    ...duplicateProblems(path, 'LOCALITY', keys),
    ...localities.flatMap((locality) => weightProblems(path, locality)),
    ...[...priorities].flatMap((priority) => priorityProblems(path, priority, priorities)),
    ...[...priorities].flatMap((priority) => weightSumProblems(path, priority, localities)),
  ];
}

function weightProblems(path: string, { subZone, weight }: XdsLocality): Problem[] {
  if (weight === undefined || (Number.isInteger(weight) && weight >= 1)) return [];
  return [problem(`${path}[${subZone}].weight`, 'WEIGHT_INVALID', `weight ${weight} is not a whole number of at least 1; leave it out where there shall be no traffic`)];
}

function priorityProblems(path: string, priority: number, priorities: ReadonlySet<number>): Problem[] {
  if (!Number.isInteger(priority) || priority < 0 || priority > PRIORITY_MAX) return [problem(path, 'PRIORITY_INVALID', `priority ${priority} is not a whole number from 0 to ${PRIORITY_MAX}`)];
  if (priority === 0 || priorities.has(priority - 1)) return [];
  return [problem(path, 'PRIORITY_GAP', `priority ${priority} without ${priority - 1}; number priorities from 0 without gaps`)];
}

function weightSumProblems(path: string, priority: number, localities: readonly XdsLocality[]): Problem[] {
  const sum = localities.filter((locality) => locality.priority === priority).reduce((total, locality) => total + (locality.weight ?? 0), 0);
  return sum > WEIGHT_SUM_MAX ? [problem(path, 'WEIGHT_SUM', `weights of priority ${priority} sum to ${sum}, more than ${WEIGHT_SUM_MAX}`)] : [];
}

// gRPC refuses an assignment in which an address appears twice, even in different localities.
const endpointProblems = ({ name, localities }: XdsLoadAssignment): Problem[] =>
  duplicateProblems(
    `loadAssignments[${name}].endpoints`,
    'ENDPOINT',
    localities.flatMap((locality) => locality.endpoints.map((endpoint) => `${endpoint.address} port ${endpoint.port}`)),
  );

/** A frontend rides in several clusters, each of which repeats its addresses, names and ports: they must agree. */
function frontendProblems(clusters: readonly XdsCluster[]): Problem[] {
  const frontends = new Map<string, XdsFrontend>();
  const listeners = new Map<string, XdsListenerUse>();
  const problems: Problem[] = [];
  for (const cluster of clusters) {
    for (const frontend of cluster.metadata.frontends) {
      const key = frontendKey(frontend);
      const path = `clusters[${cluster.name}].metadata.frontends[${key}]`;
      const first = firstSeen(frontends, key, frontend);
      if (!isSameData(sharedPart(first), sharedPart(frontend))) {
        problems.push(problem(path, 'FRONTEND_DISAGREES', `frontend ${key} has other addresses, names or callers here than in another cluster`));
      }
      problems.push(...frontend.listeners.flatMap((use) => listenerProblems(path, firstSeen(listeners, `${key}/${use.name}`, use), use, cluster.edsServiceName === undefined)));
    }
  }
  return problems;
}

const sharedPart = ({ addresses, dnsNames, callers, isHeadless }: XdsFrontend): unknown => [addresses, dnsNames, callers, isHeadless];

function firstSeen<T>(seen: Map<string, T>, key: string, value: T): T {
  const first = seen.get(key) ?? value;
  seen.set(key, first);
  return first;
}

function listenerProblems(path: string, first: XdsListenerUse, use: XdsListenerUse, isReject: boolean): Problem[] {
  const at = `${path}.listeners[${use.name}]`;
  const problems: Problem[] = [];
  if (first.port !== use.port || first.protocol !== use.protocol) problems.push(problem(at, 'LISTENER_DISAGREES', `listener ${use.name} has another port or protocol here than in another cluster`));
  if (!Number.isInteger(use.weight) || use.weight < (isReject ? 0 : 1)) problems.push(problem(at, 'WEIGHT_INVALID', `weight ${use.weight} of listener ${use.name} is not a whole number of at least ${isReject ? 0 : 1}`));
  return problems;
}
