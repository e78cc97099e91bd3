import type { Verdict } from './gateway-decisions.js';
import { objectKey, SPILLWAY_GROUP } from './names.js';
import type { ParentRef, RouteObject, ServiceObject } from './objects.js';
import { no, yes } from './verdict.js';

/** How a route stands with a Service that it wants to be in front of. */
export interface ServiceBinding {
  readonly accepted: Verdict;
  /** Numbers of the Service's ports that it takes over; empty where it may not. */
  readonly ports: readonly number[];
  /** What tells the frontends of a Service apart; {@link parseServiceParentKey} reads it. */
  readonly parentKey: string;
}

/** The key of the Service that a reference means, or undefined where it means something else. */
export function serviceKeyOf(ref: ParentRef, routeNamespace: string): string | undefined {
  // The group must be written out: without one a parentRef means Gateway API's own.
  return ref.group === '' && ref.kind === 'Service' ? objectKey({ namespace: ref.namespace ?? routeNamespace, name: ref.name }) : undefined;
}

/**
 * Whether a route with a Service as its parent is meant for us: it leads to a backend of ours. Such parents have no class
 * that would say whose they are, and a mesh in the same cluster may serve all the others.
 */
export const isMeshRoute = ({ rules }: RouteObject): boolean => rules.some(({ backendRefs }) => backendRefs.some(({ group }) => group === SPILLWAY_GROUP));

/** What tells the frontends of a Service apart: that of its own namespace's routes for everyone, and one for each other namespace's callers. */
const serviceParentKey = (serviceKey: string, callers: string | undefined): string => (callers === undefined ? serviceKey : `${serviceKey}@${callers}`);

/** Reads the key of a parent, as a {@link ServiceBinding} has it. */
export function parseServiceParentKey(key: string): { readonly serviceKey: string; readonly callers: string | undefined } {
  const [serviceKey = '', callers] = key.split('@');
  return { serviceKey, callers };
}

/** Binds a route to the ports of a Service (GAMMA, GEP-1294). */
export function bindServiceRoute(route: RouteObject, ref: ParentRef, { key, service }: { readonly key: string; readonly service: ServiceObject | undefined }): ServiceBinding {
  // GEP-1294: a route of the Service's own namespace is its producer's and for all callers; any other is a consumer's, for its own.
  const callers = key.startsWith(`${route.meta.namespace}/`) ? undefined : route.meta.namespace;
  const parentKey = serviceParentKey(key, callers);
  const refusal = judgeParent(route, key, service);
  if (service === undefined || refusal !== undefined) return { accepted: refusal ?? no('NoMatchingParent', missingText(key)), ports: [], parentKey };
  const tcp = service.ports.filter(({ protocol }) => protocol === 'TCP');
  const ports = tcp.filter(({ port, name }) => (ref.port === undefined || ref.port === port) && (ref.sectionName === undefined || ref.sectionName === name)).map(({ port }) => port);
  if (ports.length === 0) return { accepted: no('NoMatchingParent', noPortText(ref, key, tcp)), ports: [], parentKey };
  return { accepted: yes('Accepted', callers === undefined ? 'The route is accepted; it is for all callers.' : `The route is accepted; it is for callers in namespace "${callers}".`), ports, parentKey };
}

function judgeParent(route: RouteObject, key: string, service: ServiceObject | undefined): Verdict | undefined {
  if (route.kind === 'UDPRoute') {
    // kube-proxy deletes conntrack entries to a ClusterIP whose replies come from endpoints that are not its own, whenever any UDP Service changes.
    return no('UnsupportedValue', 'A UDPRoute cannot have a Service as its parent: kube-proxy ends UDP flows to a ClusterIP that lead to other endpoints than its own. Put a Gateway of this class in front instead.');
  }
  if (service === undefined) return no('NoMatchingParent', missingText(key));
  if (service.clusterIps.length === 0) return no('UnsupportedValue', `Service "${key}" has no ClusterIP (it is headless or an ExternalName), so there is no address to take over.`);
  return route.rules.length === 1 ? undefined : no('UnsupportedValue', `A ${route.kind} has exactly one rule; this one has ${route.rules.length}.`);
}

const missingText = (key: string): string => `Service "${key}" does not exist.`;

function noPortText({ sectionName, port }: ParentRef, key: string, tcp: ServiceObject['ports']): string {
  const wanted = [sectionName === undefined ? '' : ` named "${sectionName}"`, port === undefined ? '' : ` ${port}`].join('');
  return `Service "${key}" has no TCP port${wanted}; it has ${tcp.length === 0 ? 'none' : tcp.map((one) => one.port).join(', ')}.`;
}
