import { isDeepStrictEqual } from 'node:util';

import { planAddresses, type AddressAssignment, type AddressInput, type AddressPlan, type IpAddress } from '#domain/addresses';
import type { ClusterId, GatewayIntake, ImportSet, Locality, MemberBackend, NamespacedName } from '#domain/fleet';
import { acceptedFrontends, decideGateways, fleetPorts, type EndpointSelectorObject, type FleetPorts, type GatewayDecisions, type GatewayObjects, type ServiceObject } from '#domain/gateway-api';
import { rebuildRoutingPlan, type LocalObjects, type NodeObject, type RoutingPlan, type RoutingPlanInput } from '#domain/routing-plan';

import type { World } from '../observe/world.js';
import { memoEqual, memoFields, memoFold, memoLast } from './memo-last.js';

/** What a plan is made from, beyond the world. */
export interface PlanSources {
  readonly world: World;
  readonly clusterId: ClusterId;
  /** What the hub says; undefined before it has said anything. */
  readonly imports: ImportSet | undefined;
  /** What the gateway nodes shall take in; undefined while the hub says nothing of it. */
  readonly intake: GatewayIntake | undefined;
  /** Clusters to which the path is down. */
  readonly unreachable: ReadonlySet<ClusterId>;
  /** IPAddresses, our own latest among them. */
  readonly ipAddresses: readonly IpAddress[];
}

/** Everything planned at one moment. */
export interface ControllerPlan {
  readonly decisions: GatewayDecisions;
  readonly assignments: ReadonlyMap<string, AddressAssignment>;
  readonly routing: RoutingPlan;
  /** What this cluster offers to the fleet. */
  readonly localParts: readonly MemberBackend[];
  readonly imports: ImportSet | undefined;
}

/** What address plans need beyond a plan's sources. */
export interface AddressCircumstances {
  readonly alsoTaken: ReadonlySet<string>;
  readonly stillProgrammed: ReadonlySet<string>;
  readonly random: () => number;
}

const NO_CIRCUMSTANCES: AddressCircumstances = { alsoTaken: new Set(), stillProgrammed: new Set(), random: () => 0 };

/**
 * Makes plans from the world. Each stage is computed anew only when something that it reads has changed: an endpoint that
 * comes or goes decides no Gateway again.
 */
export class Planner {
  readonly #ports = memoLast(fleetPorts);
  readonly #keepPorts = memoEqual<FleetPorts>(isDeepStrictEqual);
  readonly #selectors = memoLast((ours: readonly EndpointSelectorObject[], prototypes: readonly EndpointSelectorObject[]) => [...ours, ...prototypes]);
  readonly #objects = memoFields<GatewayObjects>();
  readonly #decide = memoLast(decideGateways);
  readonly #serviceAddresses = memoLast(serviceAddresses);
  readonly #addressInput = memoFields<AddressInput>();
  readonly #addresses = memoLast(planAddresses);
  readonly #frontends = memoLast(acceptedFrontends);
  readonly #local = memoFields<LocalObjects>();
  readonly #locality = memoLast(localityOf);
  readonly #keepLocality = memoEqual<Locality>(isDeepStrictEqual);
  readonly #routingInput = memoFields<RoutingPlanInput>();
  readonly #routing = memoFold(rebuildRoutingPlan);

  constructor(private readonly clusterDomain: string) {}

  /** The plan of this moment. Parts that did not change are the same objects as before. */
  plan({ world, clusterId, imports, intake, unreachable, ipAddresses }: PlanSources): ControllerPlan {
    const decisions = this.#decisions(world, imports);
    const { assignments } = this.#addresses(this.#addressInput(addressInput(decisions, world, { ipAddresses, serviceAddresses: this.#serviceAddresses(world.services.values()) }, NO_CIRCUMSTANCES)));
    const local = this.#local({
      compositeBackends: world.compositeBackends.values(),
      endpointSelectors: this.#selectors(world.endpointSelectors.values(), world.xEndpointSelectors.values()),
      services: world.services.values(),
      serviceImports: world.serviceImports.values(),
      endpointSlices: world.endpointSlices.values(),
      importSlices: world.importSlices.values(),
      pods: world.pods.values(),
      nodes: world.nodes.values(),
    });
    const frontends = this.#frontends(decisions, assignments, this.clusterDomain);
    const locality = this.#keepLocality(this.#locality(world.nodes.values()));
    const routing = this.#routing(this.#routingInput({ clusterId, locality, frontends, local, imports, intake, unreachable }));
    return { decisions, assignments, routing: routing.plan, localParts: routing.local.offers, imports };
  }

  /** What to do about addresses now; unlike {@link plan} it chooses, by the given circumstances. */
  addressPlan({ world, imports, ipAddresses }: Pick<PlanSources, 'world' | 'imports' | 'ipAddresses'>, circumstances: AddressCircumstances, mode: 'keep' | 'release'): AddressPlan {
    const input = addressInput(this.#decisions(world, imports), world, { ipAddresses, serviceAddresses: this.#serviceAddresses(world.services.values()) }, circumstances);
    if (mode === 'keep') return planAddresses(input);
    return planAddresses({ ...input, claims: input.claims.map((claim) => ({ ...claim, mode: 'release' })) });
  }

  #decisions(world: World, imports: ImportSet | undefined): GatewayDecisions {
    const objects = this.#objects({
      classes: world.gatewayClasses.values(),
      gateways: world.gateways.values(),
      tcpRoutes: world.tcpRoutes.values(),
      udpRoutes: world.udpRoutes.values(),
      referenceGrants: world.referenceGrants.values(),
      namespaces: world.namespaces.values(),
      compositeBackends: world.compositeBackends.values(),
      endpointSelectors: this.#selectors(world.endpointSelectors.values(), world.xEndpointSelectors.values()),
      services: world.services.values(),
      serviceImports: world.serviceImports.values(),
    });
    return this.#decide(objects, this.#keepPorts(this.#ports(imports)));
  }
}

function addressInput(decisions: GatewayDecisions, world: World, known: Pick<AddressInput, 'ipAddresses' | 'serviceAddresses'>, circumstances: AddressCircumstances): AddressInput {
  return { claims: decisions.addressClaims, serviceCidrs: world.serviceCidrs.values(), ...known, ...circumstances };
}

function serviceAddresses(services: readonly ServiceObject[]): ReadonlyMap<string, NamespacedName> {
  return new Map(services.flatMap(({ namespace, name, clusterIps }) => clusterIps.map((ip) => [ip, { namespace, name }] as const)));
}

// A cluster is in a region when its nodes agree on one; likewise a zone.
function localityOf(nodes: readonly NodeObject[]): Locality {
  const only = (values: readonly string[]): string => (new Set(values).size === 1 ? (values[0] ?? '') : '');
  return { region: only(nodes.map((node) => node.region)), zone: only(nodes.map((node) => node.zone)) };
}
