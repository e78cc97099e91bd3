import { byKey, type Problem } from '#domain/fleet';
import { frontendKey, type Frontend, type FrontendListener } from '#domain/routing-plan';

import { familyOf, isOfFamily, isPort } from './address-family.js';
import { listenerSuffix, suffix } from './names.js';
import { NFT_FAMILIES, type NftAddressSet, type NftChain, type NftFamily, type NftProtocol, type NftRule, type NftSocket, type NftVerdictElement } from './nft-ruleset.js';

/** A listener as one family's table carries it, with the addresses that are its own. */
export interface ClaimedListener {
  readonly family: NftFamily;
  /** The end of the names of all that it has. */
  readonly suffix: string;
  readonly path: string;
  readonly protocol: NftProtocol;
  readonly listener: FrontendListener;
  readonly sockets: readonly NftSocket[];
}

/** What one family's table has to do with frontends, whatever their backends are. */
export interface FamilyClaims {
  /** Sorted by suffix. */
  readonly listeners: readonly ClaimedListener[];
  /** Which of the listeners use a backend. */
  readonly users: ReadonlyMap<string, readonly number[]>;
  readonly verdicts: readonly NftVerdictElement[];
  /** Where callers of some namespaces are led elsewhere than everyone else. */
  readonly dispatchChains: readonly NftChain[];
  readonly callerSets: readonly NftAddressSet[];
  /** Addresses that are ours alone. */
  readonly vips: readonly string[];
  readonly sockets: readonly NftSocket[];
}

/** The claims of all frontends, and what no table carries. */
export interface Claims {
  readonly families: ReadonlyMap<NftFamily, FamilyClaims>;
  readonly unsupported: readonly Problem[];
}

interface Claim extends ClaimedListener {
  /** The set of those that it is for; undefined: everyone. */
  readonly callers: string | undefined;
}

/**
 * Decides which listener an address and port belong to: the first frontend that names them, and apart from that the first
 * for each namespace of callers. Plans are sorted, so all nodes agree who that is.
 */
export function claimListeners(frontends: readonly Frontend[], families: readonly NftFamily[]): Claims {
  const unsupported: Problem[] = [];
  const owners = new Map<string, string>();
  const claims = frontends.flatMap((frontend) => frontend.listeners.flatMap((listener) => claimsOf({ frontend, listener, families }, owners, unsupported)));
  const hasFamily = (family: NftFamily): boolean => claims.some((claim) => claim.family === family) || vipsOf(frontends, family).length > 0;
  const carried = NFT_FAMILIES.filter((family) => families.includes(family) && (family === 'ip' || hasFamily(family)));
  return { families: new Map(carried.map((family) => [family, familyClaims(family, claims.filter((claim) => claim.family === family), frontends)])), unsupported };
}

function claimsOf(what: { readonly frontend: Frontend; readonly listener: FrontendListener; readonly families: readonly NftFamily[] }, owners: Map<string, string>, unsupported: Problem[]): Claim[] {
  const { frontend, listener, families } = what;
  const path = `${frontend.namespace}/${frontend.name}/${listener.name}`;
  if (!isPort(listener.port)) {
    unsupported.push({ path, code: 'NFT_LISTENER_UNSUPPORTED', message: `listener ${path} has port ${listener.port}; nodes carry ports 1 to 65535` });
    return [];
  }
  const protocol = listener.protocol === 'UDP' ? 'udp' : 'tcp';
  const callers = frontend.callers?.namespace;
  const sockets = frontend.addresses.flatMap((address): NftSocket[] => {
    const socket: NftSocket = { address, protocol, port: listener.port };
    const problem = claimProblem({ path, socket, callers, families }, owners);
    if (problem === undefined) return [socket];
    unsupported.push(problem);
    return [];
  });
  const names = { kind: frontend.kind, namespace: frontend.namespace, name: frontend.name, listener: listener.name, protocol, callers } as const;
  return families.flatMap((family): Claim[] => {
    const own = sockets.filter(({ address }) => isOfFamily(address, family));
    if (own.length === 0) return [];
    return [{ family, suffix: listenerSuffix(names), path, protocol, listener, sockets: own, callers: callers === undefined ? undefined : callersSetName(frontend) }];
  });
}

const callersSetName = (frontend: Frontend): string => `callers-${suffix(frontendKey(frontend), `${frontend.namespace}/${frontend.name}/${frontend.callers?.namespace ?? ''}`)}`;

interface ClaimAttempt {
  readonly path: string;
  readonly socket: NftSocket;
  readonly callers: string | undefined;
  readonly families: readonly NftFamily[];
}

function claimProblem({ path, socket, callers, families }: ClaimAttempt, owners: Map<string, string>): Problem | undefined {
  const { address, protocol, port } = socket;
  const family = familyOf(address);
  if (family === undefined) return { path, code: 'NFT_ADDRESS_UNSUPPORTED', message: `address ${address} of ${path} is no address; nodes carry canonical IPv4 and IPv6` };
  if (!families.includes(family)) return { path, code: 'NFT_FAMILY_UNSUPPORTED', message: `address ${address} of ${path} is of a family that this node's kernel does not translate (table ${family})` };
  const key = `${socketKey(socket)} ${callers ?? ''}`;
  const owner = owners.get(key);
  if (owner !== undefined) return { path, code: 'NFT_ADDRESS_TAKEN', message: `${address} ${protocol} port ${port} of ${path} already belongs to ${owner}; give it another address` };
  owners.set(key, path);
  return undefined;
}

const socketKey = ({ address, protocol, port }: NftSocket): string => `${address} ${protocol} ${port}`;

function familyClaims(family: NftFamily, claims: readonly Claim[], frontends: readonly Frontend[]): FamilyClaims {
  const listeners = [...claims].sort(byKey((claim) => claim.suffix));
  const users = new Map<string, number[]>();
  listeners.forEach(({ listener }, index) => {
    for (const { backend } of listener.uses) {
      const known = users.get(backend);
      if (known === undefined) users.set(backend, [index]);
      else known.push(index);
    }
  });
  const sockets = new Map(claims.flatMap((claim) => claim.sockets.map((socket) => [socketKey(socket), socket])));
  const wanted = new Set(claims.flatMap(({ callers }) => (callers === undefined ? [] : [callers])));
  return { listeners, users, ...dispatchOf(claims), callerSets: callerSetsOf(frontends, wanted, family), vips: vipsOf(frontends, family), sockets: [...sockets.values()] };
}

// A Service's address is kube-proxy's: it keeps the ports that no route has taken over.
const vipsOf = (frontends: readonly Frontend[], family: NftFamily): readonly string[] => [
  ...new Set(frontends.filter(({ kind }) => kind !== 'service').flatMap(({ addresses }) => addresses.filter((address) => familyOf(address) === family))),
];

function callerSetsOf(frontends: readonly Frontend[], wanted: ReadonlySet<string>, family: NftFamily): readonly NftAddressSet[] {
  return frontends
    .filter((frontend) => frontend.callers !== undefined && wanted.has(callersSetName(frontend)))
    .map((frontend): NftAddressSet => ({ kind: 'addresses', name: callersSetName(frontend), elements: (frontend.callers?.addresses ?? []).filter((address) => familyOf(address) === family) }))
    .sort(byKey(({ name }) => name));
}

// Most addresses and ports have one listener for everyone: their verdict leads straight to its chain.
function dispatchOf(claims: readonly Claim[]): Pick<FamilyClaims, 'verdicts' | 'dispatchChains'> {
  const bySocket = new Map<string, { readonly socket: NftSocket; readonly claims: Claim[] }>();
  for (const claim of claims) {
    for (const socket of claim.sockets) {
      const known = bySocket.get(socketKey(socket));
      if (known === undefined) bySocket.set(socketKey(socket), { socket, claims: [claim] });
      else known.claims.push(claim);
    }
  }
  const chains: NftChain[] = [];
  const verdicts = [...bySocket.values()].map(({ socket, claims: own }): NftVerdictElement => {
    const everyone = own.find(({ callers }) => callers === undefined);
    if (own.length === 1 && everyone !== undefined) return { ...socket, chain: chainName(everyone) };
    const { address, protocol, port } = socket;
    const chain = { name: `dispatch-${suffix(socketKey(socket), `${address}/${protocol}/${port}`)}`, rules: own.flatMap(callerRule).concat(everyone === undefined ? [] : [[{ kind: 'goto', chain: chainName(everyone) }]]) };
    chains.push(chain);
    return { ...socket, chain: chain.name };
  });
  return { verdicts, dispatchChains: chains.sort(byKey(({ name }) => name)) };
}

const callerRule = (claim: Claim): readonly NftRule[] => (claim.callers === undefined ? [] : [[{ kind: 'in-set', fields: ['source'], set: claim.callers }, { kind: 'goto', chain: chainName(claim) }]]);

/** The name of the chain that decides over a listener's connections. */
export const chainName = (claim: Pick<ClaimedListener, 'suffix'>): string => `listener-${claim.suffix}`;
