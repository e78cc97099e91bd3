import { byKey, type Problem } from '#domain/fleet';
import type { Frontend, FrontendListener, PlannedBackend, PlannedEndpoint, RoutingPlan } from '#domain/routing-plan';

import { isIpv4, isPort } from './ipv4.js';
import {
  BASE_HOOKS,
  FRONTENDS_MAP,
  HAIRPINS_SET,
  listenerNames,
  REJECTED_COUNTER,
  VIPS_SET,
  type BaseChainName,
} from './names.js';
import {
  TABLE_NAME,
  type NftChain,
  type NftRule,
  type NftRuleset,
  type NftSet,
  type NftShareMap,
  type NftStatement,
  type NftVerdictElement,
} from './nft-ruleset.js';
import { renderNftRuleset } from './render-nft-ruleset.js';
import { SHARE_MODULUS, splitUnits, type EndpointUnits } from './split-units.js';

/**
 * Renders a plan into the node's table. IPv4 and TCP; whatever else the plan holds is listed in `unsupported`. What is
 * built depends on the plan alone; where parts of it are the same objects as in an earlier plan, so are the parts of the
 * ruleset, and comparing the two costs next to nothing.
 */
export function buildNftRuleset(plan: RoutingPlan): NftRuleset {
  const backends = new Map<string, PlannedBackend>(plan.backends.map((backend) => [backend.id, backend]));
  const { claimed, unsupported, frontends, vips } = claimsOf(plan.frontends);
  const listeners = claimed.map((claim) => builtListener(claim, backends));
  const structure = {
    family: 'ip',
    table: TABLE_NAME,
    counters: [REJECTED_COUNTER],
    // Each list in the order of its names: frontends, hairpins, shares-…, vips; filter-…, listener-…, nat-….
    sets: [frontends, hairpinsSet(listeners), ...listeners.map(({ shares }) => shares), vips],
    chains: [...FILTER_CHAINS, ...listeners.map(({ chain }) => chain), ...NAT_CHAINS],
    unsupported,
  } as const;
  return withText(structure);
}

function hairpinsSet(listeners: readonly BuiltListener[]): NftSet {
  const addresses = new Set<string>();
  for (const { shares } of listeners) for (const { address } of shares.elements) addresses.add(address);
  return { kind: 'pairs', name: HAIRPINS_SET, elements: [...addresses] };
}

// Most rulesets are only diffed: at thousands of frontends the text is megabytes that nobody reads.
function withText(structure: Omit<NftRuleset, 'text'>): NftRuleset {
  let text: string | undefined;
  return {
    ...structure,
    get text(): string {
      text ??= renderNftRuleset(structure);
      return text;
    },
  };
}

/** A listener that this table carries, with the names of its chain and map and the addresses that are its own. */
interface ClaimedListener {
  readonly chainName: string;
  readonly mapName: string;
  readonly listener: FrontendListener;
  readonly addresses: readonly string[];
}

interface Claims {
  readonly claimed: readonly ClaimedListener[];
  readonly unsupported: readonly Problem[];
  readonly frontends: NftSet;
  readonly vips: NftSet;
}

interface BuiltListener {
  readonly shares: NftShareMap;
  readonly chain: NftChain;
}

// Results by the very objects they were made of. Plans of one node share most of their objects from change to change.
const knownClaims = new WeakMap<readonly Frontend[], Claims>();
const knownListeners = new WeakMap<ClaimedListener, { readonly backends: readonly (PlannedBackend | undefined)[]; readonly built: BuiltListener }>();

function claimsOf(frontends: readonly Frontend[]): Claims {
  const known = knownClaims.get(frontends);
  if (known !== undefined) return known;
  const unsupported: Problem[] = [];
  const claimed = claimedListeners(frontends, unsupported).sort(byKey(({ chainName }) => chainName));
  const vips = new Set(frontends.flatMap((frontend) => frontend.addresses).filter(isIpv4));
  const claims: Claims = {
    claimed,
    unsupported,
    frontends: { kind: 'verdicts', name: FRONTENDS_MAP, elements: claimed.flatMap(verdictElements) },
    vips: { kind: 'addresses', name: VIPS_SET, elements: [...vips] },
  };
  knownClaims.set(frontends, claims);
  return claims;
}

const verdictElements = ({ addresses, listener, chainName }: ClaimedListener): readonly NftVerdictElement[] =>
  addresses.map((address) => ({ address, protocol: 'tcp', port: listener.port, chain: chainName }));

function builtListener(claim: ClaimedListener, backends: ReadonlyMap<string, PlannedBackend>): BuiltListener {
  const used = claim.listener.uses.map((use) => backends.get(use.backend));
  const known = knownListeners.get(claim);
  if (known?.backends.every((backend, index) => backend === used[index]) === true) return known.built;
  const built = buildListener(claim, used);
  knownListeners.set(claim, { backends: used, built });
  return built;
}

// An address and port belong to the first frontend that names them; plans are sorted, so all nodes agree who that is.
function claimedListeners(frontends: readonly Frontend[], unsupported: Problem[]): ClaimedListener[] {
  const owners = new Map<string, string>();
  return frontends.flatMap((frontend) =>
    frontend.listeners.flatMap((listener) => {
      const path = `${frontend.namespace}/${frontend.name}/${listener.name}`;
      if (frontend.callers !== undefined) {
        unsupported.push({ path, code: 'NFT_CALLERS_UNSUPPORTED', message: `${path} is for callers of namespace ${frontend.callers.namespace} alone; nodes serve every caller alike` });
        return [];
      }
      if (listener.protocol !== 'TCP' || !isPort(listener.port)) {
        unsupported.push(unsupportedListener(path, listener));
        return [];
      }
      const addresses = frontend.addresses.filter((address) => {
        const problem = claimProblem({ path, address, port: listener.port }, owners);
        if (problem !== undefined) unsupported.push(problem);
        return problem === undefined;
      });
      const { kind, namespace, name } = frontend;
      return addresses.length === 0 ? [] : [{ ...listenerNames({ kind, namespace, name, listener: listener.name }), listener, addresses }];
    }),
  );
}

function unsupportedListener(path: string, listener: FrontendListener): Problem {
  const message = `listener ${path} is ${listener.protocol} port ${listener.port}; nodes carry TCP ports 1 to 65535 only`;
  return { path, code: 'NFT_LISTENER_UNSUPPORTED', message };
}

function claimProblem(claim: { path: string; address: string; port: number }, owners: Map<string, string>): Problem | undefined {
  const { path, address, port } = claim;
  if (!isIpv4(address)) {
    return { path, code: 'NFT_ADDRESS_UNSUPPORTED', message: `address ${address} of ${path} is not IPv4; nodes carry IPv4 only` };
  }
  const owner = owners.get(`${address}:${port}`);
  if (owner !== undefined) {
    return { path, code: 'NFT_ADDRESS_TAKEN', message: `${address} port ${port} of ${path} already belongs to ${owner}; give it another address` };
  }
  owners.set(`${address}:${port}`, path);
  return undefined;
}

function buildListener(claim: ClaimedListener, used: readonly (PlannedBackend | undefined)[]): BuiltListener {
  const { listener, chainName, mapName } = claim;
  const parts = [...listener.uses.map((use, index) => ({ weight: use.weight, backend: used[index] })), { weight: listener.rejectWeight, backend: undefined }];
  const shares = shareMap(mapName, splitUnits(parts, isCarried));
  const chain = knownListeners.get(claim)?.built.chain ?? { name: chainName, rules: listenerRules(mapName) };
  return { shares, chain };
}

const isCarried = (endpoint: PlannedEndpoint): boolean => isIpv4(endpoint.address) && isPort(endpoint.port);

function shareMap(name: string, endpoints: readonly EndpointUnits[]): NftShareMap {
  let from = 0;
  const elements = endpoints.map(({ address, port, units }) => {
    const element = { from, to: from + units - 1, address, port };
    from += units;
    return element;
  });
  return { kind: 'shares', name, modulus: SHARE_MODULUS, rejectedUnits: SHARE_MODULUS - from, elements };
}

const REJECT_TCP: readonly NftStatement[] = [
  { kind: 'protocol-tcp' },
  { kind: 'named-counter', counter: REJECTED_COUNTER },
  { kind: 'counter' },
  { kind: 'reject', with: 'tcp reset' },
];

// The chain ends in our own verdict: a miss in the map must never fall through to kube-proxy's table.
const listenerRules = (map: string): readonly NftRule[] => [
  [{ kind: 'protocol-tcp' }, { kind: 'dnat-by-share', map, modulus: SHARE_MODULUS }],
  REJECT_TCP,
];

const DISPATCH: readonly NftRule[] = [[{ kind: 'dispatch', map: FRONTENDS_MAP }]];

// After DNAT the destination is no virtual address any more, so one set covers every case that nothing mapped.
const TO_UNMAPPED_VIP: readonly NftStatement[] = [{ kind: 'connection-new' }, { kind: 'destination-in', set: VIPS_SET }];

const REJECT_UNMAPPED: readonly NftRule[] = [
  [...TO_UNMAPPED_VIP, ...REJECT_TCP],
  [...TO_UNMAPPED_VIP, { kind: 'named-counter', counter: REJECTED_COUNTER }, { kind: 'counter' }, { kind: 'reject', with: 'port unreachable' }],
];

const FROM_VIP: NftStatement = { kind: 'original-destination-in', set: VIPS_SET };

const BASE_RULES: Readonly<Record<BaseChainName, readonly NftRule[]>> = {
  'nat-prerouting': DISPATCH,
  'nat-output': DISPATCH,
  'nat-postrouting': [
    [FROM_VIP, { kind: 'source-and-destination-in', set: HAIRPINS_SET }, { kind: 'masquerade' }],
    [FROM_VIP, { kind: 'source-is-local' }, { kind: 'masquerade' }],
  ],
  'filter-forward': REJECT_UNMAPPED,
  'filter-output': REJECT_UNMAPPED,
};

const baseChains = (...names: readonly BaseChainName[]): readonly NftChain[] => names.map((name) => ({ name, hook: BASE_HOOKS[name], rules: BASE_RULES[name] }));

const FILTER_CHAINS = baseChains('filter-forward', 'filter-output');
const NAT_CHAINS = baseChains('nat-output', 'nat-postrouting', 'nat-prerouting');
