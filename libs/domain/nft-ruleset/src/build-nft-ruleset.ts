import { byKey, type Problem } from '#domain/fleet';
import type { Frontend, FrontendListener, PlannedBackend, PlannedEndpoint, RoutingPlan } from '#domain/routing-plan';

import { isIpv4, isPort } from './ipv4.js';
import {
  BASE_HOOKS,
  FRONTENDS_MAP,
  HAIRPINS_SET,
  listenerChainName,
  REJECTED_COUNTER,
  shareMapName,
  VIPS_SET,
  type BaseChainName,
  type ListenerKey,
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

/** Renders a plan into the node's table. IPv4 and TCP; whatever else the plan holds is listed in `unsupported`. */
export function buildNftRuleset(plan: RoutingPlan): NftRuleset {
  const backends = new Map<string, PlannedBackend>(plan.backends.map((backend) => [backend.id, backend]));
  const unsupported: Problem[] = [];
  const listeners = claimedListeners(plan.frontends, unsupported).map((claimed) => buildListener(claimed, backends));
  const vips = plan.frontends.flatMap((frontend) => frontend.addresses).filter(isIpv4);
  const endpoints = listeners.flatMap(({ shares }) => shares.elements.map((element) => element.address));
  const sets: NftSet[] = [
    { kind: 'verdicts', name: FRONTENDS_MAP, elements: listeners.flatMap(({ verdicts }) => verdicts).sort(byVerdict) },
    { kind: 'pairs', name: HAIRPINS_SET, elements: sortedUnique(endpoints) },
    ...listeners.map(({ shares }) => shares),
    { kind: 'addresses', name: VIPS_SET, elements: sortedUnique(vips) },
  ];
  const chains = [...baseChains(), ...listeners.map(({ chain }) => chain)];
  const structure = {
    family: 'ip',
    table: TABLE_NAME,
    counters: [REJECTED_COUNTER],
    sets: sets.sort(byName),
    chains: chains.sort(byName),
    unsupported,
  } as const;
  return withText(structure);
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

interface ClaimedListener {
  readonly key: ListenerKey;
  readonly listener: FrontendListener;
  readonly addresses: readonly string[];
}

interface BuiltListener {
  readonly verdicts: readonly NftVerdictElement[];
  readonly shares: NftShareMap;
  readonly chain: NftChain;
}

const byName = byKey<{ readonly name: string }>(({ name }) => name);
const byVerdict = byKey<NftVerdictElement>(({ address, port }) => `${address}/${String(port).padStart(5, '0')}`);
const sortedUnique = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort();

// An address and port belong to the first frontend that names them; plans are sorted, so all nodes agree who that is.
function claimedListeners(frontends: readonly Frontend[], unsupported: Problem[]): ClaimedListener[] {
  const owners = new Map<string, string>();
  return frontends.flatMap((frontend) =>
    frontend.listeners.flatMap((listener) => {
      const path = `${frontend.namespace}/${frontend.name}/${listener.name}`;
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
      return addresses.length === 0 ? [] : [{ key: { kind, namespace, name, listener: listener.name }, listener, addresses }];
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

function buildListener(claimed: ClaimedListener, backends: ReadonlyMap<string, PlannedBackend>): BuiltListener {
  const { key, listener } = claimed;
  const parts = [
    ...listener.uses.map((use) => ({ weight: use.weight, backend: backends.get(use.backend) })),
    { weight: listener.rejectWeight, backend: undefined },
  ];
  const shares = shareMap(shareMapName(key), splitUnits(parts, isCarried));
  const chain = { name: listenerChainName(key), rules: listenerRules(shares.name) };
  const verdicts = claimed.addresses.map((address) => ({ address, protocol: 'tcp' as const, port: listener.port, chain: chain.name }));
  return { verdicts, shares, chain };
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

const BASE_CHAIN_NAMES = Object.keys(BASE_HOOKS) as readonly BaseChainName[];

const baseChains = (): NftChain[] => BASE_CHAIN_NAMES.map((name) => ({ name, hook: BASE_HOOKS[name], rules: BASE_RULES[name] }));
