import { byKey, countReady, deriveTable, isSameItems, keepSame, outdated, SHARE_TOTAL_BP, tableOf, type BackendPort, type ClusterId, type DerivedTable, type Endpoint, type GatewayIntake, type ImportedBackend, type ImportedProvider, type ListTable, type Locality, type Lookups } from '#domain/fleet';
import { acceptedFrontendKey, objectKey, selectorKey, type AcceptedFrontend, type AcceptedListener, type CompositePort, type LocalPart } from '#domain/gateway-api';

import { NO_TRAITS, plannedAffinity, serviceTraits, type BackendTraits } from './backend-traits.js';
import { callerAddresses, type CallerAddresses } from './frontend-callers.js';
import { localTarget, planGatewayIntake, plannedBackendId, type BackendTarget } from './gateway-intake.js';
import { localEndpointFinder } from './local-endpoints.js';
import { partSources, viewLocalObjects, type LocalComposite, type LocalView, type PartSources } from './local-view.js';
import { planEndpoints } from './plan-endpoints.js';
import { planImport, type ImportSources } from './plan-import.js';
import type { RoutingPlanInput } from './plan-input.js';
import type { BackendUse, Frontend, FrontendListener, PlannedBackend, PlannedBackendId, PlannedEndpoint, PlannedProvider, RoutingPlan } from './routing-plan.js';
import { scaleShares, type PlannedShare } from './scale-shares.js';
import { usableEndpoints } from './usable-endpoints.js';
import { withoutRepeats } from './without-repeats.js';

/** A plan, and what each part of it was made from. */
export interface BuiltRoutingPlan {
  readonly plan: RoutingPlan;
  readonly here: Here;
  readonly local: LocalView;
  readonly accepted: ListTable<AcceptedFrontend>;
  readonly callers: CallerAddresses;
  readonly frontends: DerivedTable<AcceptedFrontend, PlannedFrontend, FrontendSources>;
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

/** Everything that a frontend may be made from. */
interface FrontendSources {
  readonly callers: readonly string[];
}

interface PlannedTarget {
  readonly id: PlannedBackendId;
  readonly target: BackendTarget;
}

/** Everything that a backend may be made from. Whoever reads more here adds it here: what is not looked up is not seen to change. */
interface BackendSources extends PartSources, ImportSources {
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
  const accepted = tableOf(input.frontends, acceptedFrontendKey, before.accepted);
  const callers = callerAddresses(accepted.values, input.local.pods, before.callers);
  const frontends = deriveTable(accepted, { callers }, planFrontend, before.frontends);
  const imported = tableOf(input.imports?.backends ?? NOTHING, ({ name }) => name, before.imported);
  const unreachable = tableOf([...input.unreachable], (id) => id, before.unreachable);
  const isSameUse = frontends === previous?.frontends && input.intake === previous.intake;
  const targets = isSameUse ? previous.targets : planTargets(frontends.values, input.intake, before.targets);
  const here = keepSame(before.here, { clusterId: input.clusterId, locality: input.locality });
  const backendsBefore = here === before.here ? before.backends : outdated(before.backends);
  const backends = deriveTable(targets, backendSources(local, { imported, unreachable }), planBackend(here), backendsBefore);
  const gatewayPorts = input.intake === undefined ? NOTHING : planGatewayIntake(input.intake, input.local.nodes);
  const plan = joinPlan({ frontends: frontends.values.map(({ frontend }) => frontend), backends: backends.values, gatewayPorts }, before.plan);
  return { plan, here, local, accepted, callers, frontends, imported, unreachable, intake: input.intake, targets, backends };
}

const backendSources = (local: LocalView, told: Pick<BuiltRoutingPlan, 'imported' | 'unreachable'>): Lookups<BackendSources> => ({
  ...partSources(local),
  composites: local.composites,
  serviceImports: local.serviceImports,
  importSlices: local.importSlices.byService,
  ...told,
});

const NOTHING: readonly never[] = [];

/** The plan with what did not change as the same objects as before. */
function joinPlan(fresh: RoutingPlan, previous: RoutingPlan | undefined): RoutingPlan {
  if (previous === undefined) return fresh;
  const frontends = isSameItems(previous.frontends, fresh.frontends) ? previous.frontends : fresh.frontends;
  const gatewayPorts = keepSame(previous.gatewayPorts, fresh.gatewayPorts);
  const isSame = frontends === previous.frontends && gatewayPorts === previous.gatewayPorts && fresh.backends === previous.backends;
  return isSame ? previous : { frontends, backends: fresh.backends, gatewayPorts };
}

function planFrontend({ kind, callersNamespace, isHeadless, namespace, name, addresses, dnsNames, listeners }: AcceptedFrontend, { callers }: Lookups<FrontendSources>, before: PlannedFrontend | undefined): PlannedFrontend {
  return keepSame<PlannedFrontend>(before, {
    frontend: {
      kind,
      callers: callersNamespace === undefined ? undefined : { namespace: callersNamespace, addresses: callers.get(callersNamespace) ?? NOTHING },
      isHeadless,
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
    const { affinity, timeoutSeconds, trafficDistribution } = traitsOf(target, sources);
    return keepSame<PlannedBackend>(before, {
      id,
      protocol: target.port.protocol,
      affinity: plannedAffinity(affinity, timeoutSeconds),
      trafficDistribution,
      providers: planProviders(target, sources, here),
    });
  };

function planProviders(target: BackendTarget, sources: Lookups<BackendSources>, here: Here): readonly PlannedProvider[] {
  switch (target.kind) {
    case 'composite':
      return planComposite(target, sources, here);
    case 'local': {
      const { endpoints, portIndex } = localEndpoints(target, sources);
      return [localAlone(planEndpoints(endpoints, portIndex), here)];
    }
    case 'import':
      return planImport(target, sources, here);
    case 'selector':
    case 'x-selector':
    case 'service':
      return planDirect(target, sources, here);
  }
}

function traitsOf(target: BackendTarget, { composites, imported, services, serviceImports }: Lookups<BackendSources>): BackendTraits {
  const key = objectKey(target);
  if (target.kind === 'composite' || target.kind === 'local') {
    const own = composites.get(key)?.traits ?? NO_TRAITS;
    const fleet = imported.get(key);
    // Parts that disagree: what the first one said holds for all, and the hub knows who that is (R40).
    return fleet === undefined || fleet.providers.length === 0 ? own : { ...own, affinity: fleet.sessionAffinity };
  }
  const said = target.kind === 'service' ? services.get(key) : target.kind === 'import' ? serviceImports.get(key) : undefined;
  return said === undefined ? NO_TRAITS : serviceTraits(said);
}

/** A direct reference: this cluster's own endpoints and nobody else's (R16). */
function planDirect(target: BackendTarget, sources: Lookups<BackendSources>, here: Here): readonly PlannedProvider[] {
  const part = directPart(target, sources);
  const port: CompositePort = { ...target.port, targetPort: target.port.port };
  return [localAlone(part === undefined ? [] : planEndpoints(localEndpointFinder(sources)(part, [port]), 0), here)];
}

function directPart({ kind, namespace, name }: BackendTarget, { selectors, services }: Lookups<BackendSources>): LocalPart | undefined {
  if (kind === 'service') {
    const service = services.get(`${namespace}/${name}`);
    return service === undefined ? undefined : { kind: 'service', service };
  }
  const selector = selectors.get(selectorKey({ kind: kind === 'x-selector' ? 'XEndpointSelector' : 'EndpointSelector', namespace, name }));
  return selector === undefined ? undefined : { kind: 'selector', selector };
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
  const candidates = withoutRepeats([self, ...remote.sort(byKey((candidate) => candidate.clusterId))], ({ address, port }: PlannedEndpoint) => `${address} ${port}`)
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
