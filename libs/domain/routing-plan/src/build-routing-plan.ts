import { byKey, countReady, deriveTable, isSameItems, keepSame, outdated, SHARE_TOTAL_BP, tableOf, type BackendPort, type ClusterId, type DerivedTable, type Endpoint, type GatewayIntake, type ImportedBackend, type ImportedProvider, type ListTable, type Locality, type Lookups } from '#domain/fleet';
import { objectKey, type AcceptedFrontend, type AcceptedListener, type CompositePort, type LocalPart } from '#domain/gateway-api';

import { localTarget, planGatewayIntake, plannedBackendId, type BackendTarget } from './gateway-intake.js';
import { localEndpointFinder } from './local-endpoints.js';
import { partSources, viewLocalObjects, type LocalComposite, type LocalView, type PartSources } from './local-view.js';
import type { RoutingPlanInput } from './plan-input.js';
import type { BackendUse, Frontend, FrontendListener, PlannedBackend, PlannedBackendId, PlannedEndpoint, PlannedProvider, RoutingPlan } from './routing-plan.js';
import { scaleShares, type PlannedShare } from './scale-shares.js';
import { usableEndpoints } from './usable-endpoints.js';

/** A plan, and what each part of it was made from. */
export interface BuiltRoutingPlan {
  readonly plan: RoutingPlan;
  readonly here: Here;
  readonly local: LocalView;
  readonly accepted: ListTable<AcceptedFrontend>;
  readonly frontends: DerivedTable<AcceptedFrontend, PlannedFrontend, object>;
  readonly imported: ListTable<ImportedBackend>;
  readonly unreachable: ListTable<ClusterId>;
  readonly intake: GatewayIntake | undefined;
  readonly targets: ListTable<PlannedTarget>;
  readonly backends: DerivedTable<PlannedTarget, PlannedBackend, BackendSources>;
}

/** A frontend, and what it leads to. */
interface PlannedFrontend {
  readonly frontend: Frontend;
  readonly targets: readonly PlannedTarget[];
}

interface PlannedTarget {
  readonly id: PlannedBackendId;
  readonly target: BackendTarget;
}

/** Everything that a backend may be made from. Whoever reads more here adds it here: what is not looked up is not seen to change. */
interface BackendSources extends PartSources {
  readonly composites: LocalComposite;
  readonly imported: ImportedBackend;
  readonly unreachable: ClusterId;
}

/** Where a plan is made. */
interface Here {
  readonly clusterId: ClusterId;
  readonly locality: Locality;
}

/** Joins what this cluster's routes accept, what it has itself and what the hub says of the fleet into the one plan that renderers read. */
export const buildRoutingPlan = (input: RoutingPlanInput): RoutingPlan => rebuildRoutingPlan(input).plan;

/** As {@link buildRoutingPlan}. The plan depends on `input` alone, `previous` only saves work: what did not change is the same object as before. */
export function rebuildRoutingPlan(input: RoutingPlanInput, previous?: BuiltRoutingPlan): BuiltRoutingPlan {
  const before: Partial<BuiltRoutingPlan> = previous ?? {};
  const local = viewLocalObjects(input.local, before.local);
  const accepted = tableOf(input.frontends, objectKey, before.accepted);
  const frontends = deriveTable(accepted, {}, planFrontend, before.frontends);
  const imported = tableOf(input.imports?.backends ?? NOTHING, ({ name }) => name, before.imported);
  const unreachable = tableOf([...input.unreachable], (id) => id, before.unreachable);
  const isSameUse = frontends === previous?.frontends && input.intake === previous.intake;
  const targets = isSameUse ? previous.targets : planTargets(frontends.values, input.intake, before.targets);
  const here = keepSame(before.here, { clusterId: input.clusterId, locality: input.locality });
  const backendsBefore = here === before.here ? before.backends : outdated(before.backends);
  const backends = deriveTable(targets, { ...partSources(local), composites: local.composites, imported, unreachable }, planBackend(here), backendsBefore);
  const gatewayPorts = input.intake === undefined ? NOTHING : planGatewayIntake(input.intake, input.local.nodes);
  const plan = joinPlan({ frontends: frontends.values.map(({ frontend }) => frontend), backends: backends.values, gatewayPorts }, before.plan);
  return { plan, here, local, accepted, frontends, imported, unreachable, intake: input.intake, targets, backends };
}

const NOTHING: readonly never[] = [];

/** The plan with what did not change as the same objects as before. */
function joinPlan(fresh: RoutingPlan, previous: RoutingPlan | undefined): RoutingPlan {
  if (previous === undefined) return fresh;
  const frontends = isSameItems(previous.frontends, fresh.frontends) ? previous.frontends : fresh.frontends;
  const gatewayPorts = keepSame(previous.gatewayPorts, fresh.gatewayPorts);
  const isSame = frontends === previous.frontends && gatewayPorts === previous.gatewayPorts && fresh.backends === previous.backends;
  return isSame ? previous : { frontends, backends: fresh.backends, gatewayPorts };
}

function planFrontend({ namespace, name, addresses, dnsNames, listeners }: AcceptedFrontend, _: object, before: PlannedFrontend | undefined): PlannedFrontend {
  return keepSame<PlannedFrontend>(before, {
    frontend: {
      kind: 'gateway',
      callers: undefined,
      isHeadless: false,
      namespace,
      name,
      addresses: [...addresses].sort(),
      dnsNames: [...dnsNames].sort(),
      listeners: listeners.map(planListener).sort(byKey((listener) => listener.name)),
    },
    targets: listeners.flatMap(({ targets }) => targets).map((target) => ({ id: plannedBackendId(target), target })),
  });
}

/** What all frontends and gateway ports lead to, each once. */
function planTargets(frontends: readonly PlannedFrontend[], intake: GatewayIntake | undefined, previous: ListTable<PlannedTarget> | undefined): ListTable<PlannedTarget> {
  const called = (intake?.openings ?? NOTHING).map(localTarget).map((target): PlannedTarget => ({ id: plannedBackendId(target), target }));
  const targets = new Map([...frontends.flatMap((frontend) => frontend.targets), ...called].map((target) => [target.id, target] as const));
  return tableOf([...targets.values()].sort(byKey(({ id }) => id)), ({ id }) => id, previous);
}

function planListener({ name, port, protocol, targets, rejectWeight }: AcceptedListener): FrontendListener {
  const weights = new Map<PlannedBackendId, number>();
  // A route may name one backend twice; its weights add up.
  for (const target of targets) weights.set(plannedBackendId(target), (weights.get(plannedBackendId(target)) ?? 0) + target.weight);
  const uses = [...weights].map(([backend, weight]): BackendUse => ({ backend, weight }));
  return { name, port, protocol, uses: uses.sort(byKey(({ backend }) => backend)), rejectWeight };
}

const planBackend =
  (here: Here) =>
  ({ id, target }: PlannedTarget, sources: Lookups<BackendSources>, before: PlannedBackend | undefined): PlannedBackend => {
    const providers = planProviders(target, sources, here);
    return keepSame<PlannedBackend>(before, { id, protocol: target.port.protocol, affinity: undefined, trafficDistribution: 'None', providers });
  };

function planProviders(target: BackendTarget, sources: Lookups<BackendSources>, here: Here): readonly PlannedProvider[] {
  switch (target.kind) {
    case 'composite':
      return planComposite(target, sources, here);
    case 'local': {
      const { endpoints, portIndex } = localEndpoints(target, sources);
      return [localAlone(planEndpoints(endpoints, portIndex), here)];
    }
    default:
      return planDirect(target, sources, here);
  }
}

/** A direct reference: this cluster's own endpoints and nobody else's (R16). */
function planDirect(target: BackendTarget, sources: Lookups<BackendSources>, here: Here): readonly PlannedProvider[] {
  const part = directPart(target, sources);
  const port: CompositePort = { ...target.port, targetPort: target.port.port };
  return [localAlone(part === undefined ? [] : planEndpoints(localEndpointFinder(sources)(part, [port]), 0), here)];
}

function directPart({ kind, namespace, name }: BackendTarget, { selectors, services }: Lookups<BackendSources>): LocalPart | undefined {
  const key = `${namespace}/${name}`;
  const selector = kind === 'selector' ? selectors.get(key) : undefined;
  if (selector !== undefined) return { kind: 'selector', selector };
  const service = kind === 'service' ? services.get(key) : undefined;
  return service === undefined ? undefined : { kind: 'service', service };
}

function planComposite(target: BackendTarget, sources: Lookups<BackendSources>, here: Here): readonly PlannedProvider[] {
  const local = localEndpoints(target, sources);
  const imported = sources.imported.get(objectKey(target));
  const split = imported?.ports.find(({ port }) => isSamePort(port, target.port));
  // No word from the hub on this port: the cluster stands alone.
  if (imported === undefined || split === undefined) return [localAlone(planEndpoints(local.endpoints, local.portIndex), here)];
  const { clusterId, locality } = here;
  const remote = imported.providers.filter((provider) => provider.clusterId !== clusterId).flatMap((provider) => remoteProvider(provider, target.port, sources) ?? []);
  const self: Candidate = {
    clusterId,
    locality,
    path: 'direct',
    endpoints: planEndpoints(local.endpoints, local.portIndex),
    readyNow: countReady(local.endpoints),
    readyAssumed: imported.providers.find((provider) => provider.clusterId === clusterId)?.readyAssumed ?? 0,
    isLocal: true,
    isReachable: true,
  };
  const planned = new Map(split.shares.map((share) => [share.clusterId, share.shareBp]));
  const candidates = withoutRepeats([self, ...remote.sort(byKey((candidate) => candidate.clusterId))])
    .filter(({ endpoints, isLocal }) => !isLocal || endpoints.length > 0)
    .sort(byKey((candidate) => candidate.clusterId));
  const shares = scaleShares(candidates.map((candidate): PlannedShare => ({ ...candidate, shareBp: planned.get(candidate.clusterId) ?? 0 })));
  return candidates.map(({ clusterId: id, locality: at, path, endpoints }) => ({ clusterId: id, locality: at, path, shareBp: shares.get(id) ?? 0, endpoints }));
}

type Candidate = Omit<PlannedShare, 'shareBp'> & Pick<PlannedProvider, 'locality' | 'path'>;

interface LocalEndpoints {
  readonly endpoints: readonly Endpoint[];
  readonly portIndex: number;
}

/** A cluster knows its own endpoints sooner and better than the hub does: they come from its own objects alone. */
function localEndpoints(target: BackendTarget, { composites }: Lookups<BackendSources>): LocalEndpoints {
  const local = composites.get(objectKey(target));
  return local === undefined ? { endpoints: [], portIndex: -1 } : { endpoints: local.endpoints, portIndex: local.ports.findIndex((port) => isSamePort(port, target.port)) };
}

/**
 * Clusters of one network whose pod ranges overlap may name one address twice, by mistake. It is one place: it stays with whom it
 * is named first for, this cluster before all others. Clients refuse a backend as a whole where an address is in it twice.
 */
function withoutRepeats(candidates: readonly Candidate[]): readonly Candidate[] {
  const seen = new Set<string>();
  return candidates.map((candidate) => {
    const own = candidate.endpoints.filter(({ address, port }) => !seen.has(`${address} ${port}`));
    for (const { address, port } of own) seen.add(`${address} ${port}`);
    return own.length === candidate.endpoints.length ? candidate : { ...candidate, endpoints: own };
  });
}

/** A provider's endpoints on a port; undefined where it does not expose the port. */
function remoteProvider({ clusterId, locality, path, endpoints, ports, readyAssumed }: ImportedProvider, port: BackendPort, { unreachable }: Lookups<BackendSources>): Candidate | undefined {
  const portIndex = ports.findIndex((candidate) => isSamePort(candidate, port));
  if (portIndex < 0) return undefined;
  // How many pods are ready behind a gateway is the hub's knowledge alone.
  const readyNow = path === 'gateway' ? readyAssumed : countReady(endpoints);
  return { clusterId, locality, path, endpoints: planEndpoints(endpoints, portIndex), readyNow, readyAssumed, isLocal: false, isReachable: unreachable.get(clusterId) === undefined };
}

function localAlone(endpoints: readonly PlannedEndpoint[], here: Here): PlannedProvider {
  const shareBp = usableEndpoints(endpoints).length > 0 ? SHARE_TOTAL_BP : 0;
  return { ...here, path: 'direct', shareBp, endpoints };
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
