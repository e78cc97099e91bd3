import type { Problem } from '#domain/fleet';
import type { PlannedBackend, PlannedEndpoint } from '#domain/routing-plan';

import { isOfFamily, isPort } from './address-family.js';
import { mayBeHere, preferredEndpoints, type NftAffinityWay, type NftNode } from './build-options.js';
import { chainName, type ClaimedListener } from './claims.js';
import { ownerSuffix, REFUSE_CHAIN } from './names.js';
import type { NftChain, NftFamily, NftOwnerMap, NftProtocol, NftRule, NftShareMap, NftSocket, NftStatement, NftUnit, NftUnitMap } from './nft-ruleset.js';
import { coveredUnits } from './set-layout.js';
import { SHARE_MODULUS, splitEvenly, splitUnits, type EndpointChoice, type EndpointUnits, type ProviderUnits } from './split-units.js';
import { contiguousIntervals, movedIntervals, type OwnedInterval } from './sticky-intervals.js';

/** A listener's part of its table. */
export interface BuiltListener {
  readonly claim: ClaimedListener;
  /** The backends that it was built of, in the order of its uses. */
  readonly backends: readonly (PlannedBackend | undefined)[];
  readonly owners: NftOwnerMap | undefined;
  readonly shares: readonly NftShareMap[];
  readonly chain: NftChain;
  /** Endpoints that may be pods of this node. */
  readonly hairpins: readonly string[];
  readonly gateways: readonly NftSocket[];
  readonly isRefusing: boolean;
  readonly unsupported: readonly Problem[];
}

/** What the node adds to a listener. */
export interface ListenerContext {
  readonly node: NftNode | undefined;
  readonly affinity: NftAffinityWay;
  /** A map of units that is in force, by its name. */
  inForce(name: string): NftUnitMap | undefined;
}

/** Which connections of a client go the same way, and for how long. */
type Stickiness = { readonly kind: 'none' } | { readonly kind: 'hashed' } | { readonly kind: 'endpoint' | 'cluster'; readonly timeoutSeconds: number };

/** Builds a listener of the backends that it uses. What stays as in `known` stays the same object. */
export function buildListener(claim: ClaimedListener, backends: readonly (PlannedBackend | undefined)[], context: ListenerContext, known: BuiltListener | undefined): BuiltListener {
  const { listener, family } = claim;
  const parts = [...listener.uses.map(({ weight }, index) => ({ weight, backend: backends[index] })), { weight: listener.rejectWeight, backend: undefined }];
  const units = splitUnits(parts, endpointChoice(family, context.node));
  const stickiness = stickinessOf(backends, context.affinity);
  const maps = stickiness.kind === 'cluster' ? clusterMaps(claim, units, context) : { owners: undefined, shares: [endpointMap(claim, units, { isSticky: stickiness.kind !== 'none', context })] };
  const rules = listenerRules(claim, stickiness, maps);
  return {
    claim,
    backends,
    ...maps,
    chain: known !== undefined && JSON.stringify(known.chain.rules) === JSON.stringify(rules) ? known.chain : { name: chainName(claim), rules },
    hairpins: hairpinsOf(units, context.node),
    gateways: gatewaysOf(units, claim.protocol),
    isRefusing: (maps.owners ?? maps.shares[0])?.rejectedUnits !== 0,
    unsupported: stickiness.kind === 'hashed' ? [untimed(claim.path)] : [],
  };
}

const untimed = (path: string): Problem => ({ path, code: 'NFT_AFFINITY_UNTIMED', message: `clients of ${path} keep their endpoint for ever, not for the time that its backend says: the nft program cannot write what raw netlink can` });

/** The endpoints that a family's table can carry, and those of them that a node prefers. */
export const endpointChoice = (family: NftFamily, node: NftNode | undefined): EndpointChoice => ({
  isCarried: (endpoint) => isOfFamily(endpoint.address, family) && isPort(endpoint.port),
  preferred: (endpoints, backend, clusterId) => preferredEndpoints(endpoints, backend, clusterId, node),
});

// Where one backend of a listener wants its clients back, all of the listener's stay; the longest time and the closest scope count.
function stickinessOf(backends: readonly (PlannedBackend | undefined)[], way: NftAffinityWay): Stickiness {
  const wanted = backends.flatMap((backend) => (backend?.affinity === undefined ? [] : [backend.affinity]));
  if (wanted.length === 0) return { kind: 'none' };
  if (way === 'hashed') return { kind: 'hashed' };
  return { kind: wanted.some(({ scope }) => scope === 'endpoint') ? 'endpoint' : 'cluster', timeoutSeconds: Math.max(...wanted.map(({ timeoutSeconds }) => timeoutSeconds)) };
}

function endpointMap(claim: ClaimedListener, units: readonly ProviderUnits[], options: { readonly isSticky: boolean; readonly context: ListenerContext }): NftShareMap {
  const name = `shares-${claim.suffix}`;
  const wanted = units.flatMap((part) => splitEvenly(part.endpoints, part.units)).map(({ address, port, units: count }) => ({ owner: { address, port }, units: count }));
  const inForce = options.context.inForce(name);
  const before = inForce?.kind === 'shares' ? inForce.elements.map((element) => ({ from: element.from, to: element.to, owner: { address: element.address, port: element.port } })) : [];
  return shareMap(name, claim.protocol, options.isSticky ? movedIntervals(before, wanted, { modulus: SHARE_MODULUS, keyOf: ({ address, port }) => `${address} ${port}` }) : contiguousIntervals(wanted));
}

/** A map of shares out of intervals. */
export function shareMap(name: string, protocol: NftProtocol, intervals: readonly OwnedInterval<Pick<EndpointUnits, 'address' | 'port'>>[]): NftShareMap {
  const elements = intervals.map(({ from, to, owner: { address, port } }) => ({ from, to, address, port }));
  return { kind: 'shares', name, protocol, modulus: SHARE_MODULUS, rejectedUnits: SHARE_MODULUS - coveredUnits(elements), elements };
}

// A client's unit says which provider's turn it is; which of its endpoints is drawn anew for each connection.
function clusterMaps(claim: ClaimedListener, units: readonly ProviderUnits[], context: ListenerContext): { readonly owners: NftOwnerMap; readonly shares: readonly NftShareMap[] } {
  const name = `owners-${claim.suffix}`;
  const inForce = context.inForce(name);
  const before = inForce?.kind === 'owners' ? inForce.elements : [];
  const intervals = movedIntervals(before, units.map((part) => ({ owner: part.owner, units: part.units })), { modulus: SHARE_MODULUS, keyOf: String });
  const owned = [...new Map(units.map((part) => [part.owner, part])).values()].sort((a, b) => a.owner - b.owner);
  return {
    owners: { kind: 'owners', name, modulus: SHARE_MODULUS, rejectedUnits: SHARE_MODULUS - coveredUnits(intervals), elements: intervals },
    shares: owned.map(({ owner, endpoints }) => {
      const wanted = splitEvenly(endpoints, SHARE_MODULUS).map((endpoint) => ({ owner: endpoint, units: endpoint.units }));
      return shareMap(`shares-${ownerSuffix(claim.suffix, owner)}`, claim.protocol, contiguousIntervals(wanted));
    }),
  };
}

const GOTO_REFUSE: NftStatement = { kind: 'goto', chain: REFUSE_CHAIN };

// The chain ends in our own verdict: a miss in the map must never fall through to kube-proxy's table.
function listenerRules({ protocol, suffix }: ClaimedListener, stickiness: Stickiness, maps: Pick<BuiltListener, 'owners' | 'shares'>): readonly NftRule[] {
  const isProtocol: NftStatement = { kind: 'protocol', is: protocol };
  const dnat = (unit: NftUnit, map = `shares-${suffix}`): NftStatement => ({ kind: 'dnat-by-share', unit, map, modulus: SHARE_MODULUS });
  switch (stickiness.kind) {
    case 'none':
      return [[isProtocol, dnat('random')], [GOTO_REFUSE]];
    case 'hashed':
      return [[isProtocol, dnat('hashed')], [GOTO_REFUSE]];
    case 'endpoint':
      return [...takeUnit(isProtocol, stickiness.timeoutSeconds), [isProtocol, dnat('taken')], [GOTO_REFUSE]];
    default:
      return [...takeUnit(isProtocol, stickiness.timeoutSeconds), ...maps.shares.map((map): NftRule => [isProtocol, ofOwner(maps.owners, map), dnat('random', map.name)]), [GOTO_REFUSE]];
  }
}

// Where the memory is full, a caller's hash stands in for what would be remembered of it.
const takeUnit = (isProtocol: NftStatement, timeoutSeconds: number): readonly NftRule[] => [
  [{ kind: 'take-unit', from: 'hash', modulus: SHARE_MODULUS }],
  [isProtocol, { kind: 'remember', timeoutSeconds, modulus: SHARE_MODULUS }, { kind: 'take-unit', from: 'memory', modulus: SHARE_MODULUS }],
];

const ofOwner = (owners: NftOwnerMap | undefined, map: NftShareMap): NftStatement => ({ kind: 'unit-of-owner', unit: 'taken', map: owners?.name ?? '', modulus: SHARE_MODULUS, owner: Number.parseInt(map.name.slice(-8), 16) });

const hairpinsOf = (units: readonly ProviderUnits[], node: NftNode | undefined): readonly string[] =>
  units.flatMap(({ provider, endpoints }) => (provider.path === 'gateway' ? [] : endpoints.filter((endpoint) => mayBeHere(endpoint, provider.clusterId, node)).map(({ address }) => address)));

const gatewaysOf = (units: readonly ProviderUnits[], protocol: NftProtocol): readonly NftSocket[] =>
  units.flatMap(({ provider, endpoints }) => (provider.path === 'gateway' ? endpoints.map(({ address, port }: PlannedEndpoint): NftSocket => ({ address, protocol, port })) : []));
