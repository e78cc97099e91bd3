import { byKey, countReady, SHARE_TOTAL_BP, type BackendPort, type Endpoint, type ImportedBackend, type ImportedProvider } from '#domain/fleet';
import { compositePorts, findLocalPart, type AcceptedListener, type CompositeBackendObject, type CompositePort, type LocalPart, type LocalPartIndex, type RouteTarget } from '#domain/gateway-api';

import { localEndpointFinder, type LocalEndpointFinder } from './local-endpoints.js';
import type { RoutingPlanInput } from './plan-input.js';
import type { BackendUse, FrontendListener, PlannedBackend, PlannedBackendId, PlannedEndpoint, PlannedProvider, RoutingPlan } from './routing-plan.js';
import { scaleShares, type PlannedShare } from './scale-shares.js';
import { usableEndpoints } from './usable-endpoints.js';

/** Joins what this cluster's routes accept, what it has itself and what the hub says of the fleet into the one plan that renderers read. */
export function buildRoutingPlan(input: RoutingPlanInput): RoutingPlan {
  const frontends = [...input.frontends].sort(byKey(({ namespace, name }) => `${namespace}/${name}`));
  const targets = new Map(frontends.flatMap(({ listeners }) => listeners.flatMap(({ targets: all }) => all)).map((target) => [plannedBackendId(target), target]));
  const context = planContext(input);
  return {
    frontends: frontends.map(({ namespace, name, addresses, dnsNames, listeners }) => ({
      kind: 'gateway',
      callers: undefined,
      isHeadless: false,
      namespace,
      name,
      addresses: [...addresses].sort(),
      dnsNames: [...dnsNames].sort(),
      listeners: listeners.map(planListener).sort(byKey((listener) => listener.name)),
    })),
    backends: [...targets].sort(byKey(([id]) => id)).map(([id, target]) => planBackend(id, target, context)),
    gatewayPorts: [],
  };
}

/** The plan's id of what a route target means. */
const plannedBackendId = ({ kind, namespace, name, port }: Omit<RouteTarget, 'weight'>): PlannedBackendId =>
  `${kind}:${namespace}/${name}/${port.port}/${port.protocol}` as PlannedBackendId;

function planListener({ name, port, protocol, targets, rejectWeight }: AcceptedListener): FrontendListener {
  const weights = new Map<PlannedBackendId, number>();
  // A route may name one backend twice; its weights add up.
  for (const target of targets) weights.set(plannedBackendId(target), (weights.get(plannedBackendId(target)) ?? 0) + target.weight);
  const uses = [...weights].map(([backend, weight]): BackendUse => ({ backend, weight }));
  return { name, port, protocol, uses: uses.sort(byKey(({ backend }) => backend)), rejectWeight };
}

interface PlanContext {
  readonly input: RoutingPlanInput;
  readonly index: LocalPartIndex;
  readonly composites: ReadonlyMap<string, CompositeBackendObject>;
  readonly imported: ReadonlyMap<string, ImportedBackend>;
  readonly findEndpoints: LocalEndpointFinder;
}

function planContext(input: RoutingPlanInput): PlanContext {
  const { compositeBackends, endpointSelectors, services } = input.local;
  return {
    input,
    index: {
      selectors: new Map(endpointSelectors.map((object) => [`${object.meta.namespace}/${object.meta.name}`, object])),
      services: new Map(services.map((object) => [`${object.namespace}/${object.name}`, object])),
    },
    composites: new Map(compositeBackends.map((object) => [`${object.meta.namespace}/${object.meta.name}`, object])),
    imported: new Map<string, ImportedBackend>((input.imports?.backends ?? []).map((backend) => [backend.name, backend])),
    findEndpoints: localEndpointFinder(input.local),
  };
}

function planBackend(id: PlannedBackendId, target: RouteTarget, context: PlanContext): PlannedBackend {
  const providers = target.kind === 'composite' ? planComposite(target, context) : planDirect(target, context);
  return { id, protocol: target.port.protocol, affinity: undefined, trafficDistribution: 'None', providers };
}

/** A direct reference: this cluster's own endpoints and nobody else's (R16). */
function planDirect(target: RouteTarget, context: PlanContext): readonly PlannedProvider[] {
  const part = directPart(target, context);
  const port: CompositePort = { ...target.port, targetPort: target.port.port };
  return [localAlone(part === undefined ? [] : planEndpoints(context.findEndpoints(part, [port]), 0), context)];
}

function directPart({ kind, namespace, name }: RouteTarget, { index }: PlanContext): LocalPart | undefined {
  const key = `${namespace}/${name}`;
  const selector = kind === 'selector' ? index.selectors.get(key) : undefined;
  if (selector !== undefined) return { kind: 'selector', selector };
  const service = kind === 'service' ? index.services.get(key) : undefined;
  return service === undefined ? undefined : { kind: 'service', service };
}

function planComposite(target: RouteTarget, context: PlanContext): readonly PlannedProvider[] {
  const local = localEndpoints(target, context);
  const imported = context.imported.get(`${target.namespace}/${target.name}`);
  const split = imported?.ports.find(({ port }) => isSamePort(port, target.port));
  // No word from the hub on this port: the cluster stands alone.
  if (imported === undefined || split === undefined) return [localAlone(planEndpoints(local.endpoints, local.portIndex), context)];
  const { clusterId, locality } = context.input;
  const remote = imported.providers.filter((provider) => provider.clusterId !== clusterId).flatMap((provider) => remoteProvider(provider, target.port) ?? []);
  const self: Candidate = {
    clusterId,
    locality,
    path: 'direct',
    endpoints: planEndpoints(local.endpoints, local.portIndex),
    readyNow: countReady(local.endpoints),
    readyAssumed: imported.providers.find((provider) => provider.clusterId === clusterId)?.readyAssumed ?? 0,
    isLocal: true,
  };
  const planned = new Map(split.shares.map((share) => [share.clusterId, share.shareBp]));
  const candidates = [...remote, self].filter(({ endpoints, isLocal }) => !isLocal || endpoints.length > 0).sort(byKey((candidate) => candidate.clusterId));
  const shares = scaleShares(candidates.map((candidate): PlannedShare => ({ ...candidate, shareBp: planned.get(candidate.clusterId) ?? 0 })));
  return candidates.map(({ clusterId: id, locality: at, path, endpoints }) => ({ clusterId: id, locality: at, path, shareBp: shares.get(id) ?? 0, endpoints }));
}

type Candidate = Omit<PlannedShare, 'shareBp'> & Pick<PlannedProvider, 'locality' | 'path'>;

interface LocalEndpoints {
  readonly endpoints: readonly Endpoint[];
  readonly portIndex: number;
}

/** A cluster knows its own endpoints sooner and better than the hub does: they come from its own objects alone. */
function localEndpoints(target: RouteTarget, { composites, index, findEndpoints }: PlanContext): LocalEndpoints {
  const composite = composites.get(`${target.namespace}/${target.name}`);
  const part = composite === undefined ? undefined : findLocalPart(composite, index);
  if (composite === undefined || part === undefined) return { endpoints: [], portIndex: -1 };
  const ports = compositePorts(composite, part);
  return { endpoints: findEndpoints(part, ports), portIndex: ports.findIndex((port) => isSamePort(port, target.port)) };
}

/** A provider's endpoints on a port; undefined where it does not expose the port. */
function remoteProvider({ clusterId, locality, path, endpoints, ports, readyAssumed }: ImportedProvider, port: BackendPort): Candidate | undefined {
  const portIndex = ports.findIndex((candidate) => isSamePort(candidate, port));
  if (portIndex < 0) return undefined;
  return { clusterId, locality, path, endpoints: planEndpoints(endpoints, portIndex), readyNow: countReady(endpoints), readyAssumed, isLocal: false };
}

function localAlone(endpoints: readonly PlannedEndpoint[], { input }: PlanContext): PlannedProvider {
  const shareBp = usableEndpoints(endpoints).length > 0 ? SHARE_TOTAL_BP : 0;
  return { clusterId: input.clusterId, locality: input.locality, path: 'direct', shareBp, endpoints };
}

const isSamePort = (one: BackendPort, other: BackendPort): boolean => one.port === other.port && one.protocol === other.protocol;
const isReady = ({ ready, terminating }: Endpoint): boolean => ready && !terminating;

function planEndpoints(endpoints: readonly Endpoint[], portIndex: number): readonly PlannedEndpoint[] {
  return endpoints
    .flatMap((endpoint): readonly PlannedEndpoint[] => {
      const port = endpoint.targetPorts[portIndex] ?? 0;
      return port === 0 ? [] : [{ address: endpoint.address, port, state: stateOf(endpoint), zone: endpoint.zone, node: endpoint.node, hostname: '' }];
    })
    .sort((a, b) => byKey<PlannedEndpoint>(({ address }) => address)(a, b) || a.port - b.port);
}

function stateOf(endpoint: Endpoint): PlannedEndpoint['state'] {
  if (isReady(endpoint)) return 'ready';
  return endpoint.serving && endpoint.terminating ? 'serving-terminating' : 'not-ready';
}
