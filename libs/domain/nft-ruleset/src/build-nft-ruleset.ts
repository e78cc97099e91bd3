import type { Problem } from '#domain/fleet';
import type { PlannedBackend, RoutingPlan } from '#domain/routing-plan';

import { assembleTable, type FamilyParts } from './assemble-table.js';
import type { NftBuildOptions } from './build-options.js';
import { buildListener, type BuiltListener, type ListenerContext } from './built-listener.js';
import { claimListeners, type Claims, type FamilyClaims } from './claims.js';
import { buildGateway, gatewayProblems, hasSourceOf, portsOfNode } from './gateway-tables.js';
import { NFT_FAMILIES, type NftFamily, type NftRuleset, type NftTable, type NftUnitMap } from './nft-ruleset.js';
import { renderNftTables } from './render-nft-ruleset.js';

/**
 * Renders a plan into a node's tables. What neither can carry is listed in `unsupported`. What is built depends on the plan,
 * the node and, for clients that shall stay where they are, on what is in force; parts of `before` that did not change are
 * the same objects again, and building and comparing them costs next to nothing.
 */
export function buildNftRuleset(plan: RoutingPlan, options: NftBuildOptions = {}): NftRuleset {
  const known = options.before === undefined ? undefined : knownBuilds.get(options.before);
  const before = known !== undefined && isSameSetting(known.options, options) ? known : undefined;
  const ports = portsOfNode(plan.gatewayPorts, options.node);
  const claims = claimsOf(plan, options, before);
  const backends = backendsOf(plan, before);
  const families = new Map(
    familiesOf(claims, options, hasSourceOf(ports, 'ip6')).map((family) => {
      const inForce = mapsInForce(family, options);
      const own = { family, claims: claims.families.get(family) ?? NO_CLAIMS, listeners: [], gateway: buildGateway(ports, family, { node: options.node, backend: backends.get }), affinity: options.affinity ?? 'timed' } as const;
      const context: ListenerContext = { node: options.node, affinity: own.affinity, inForce };
      const previous = before?.families.get(family);
      const parts: FamilyParts = { ...own, listeners: builtListeners(own.claims, { backends, context }, previous?.parts) };
      return [family, { parts, table: assembleTable(parts, previous) }] as const;
    }),
  );
  const tables = [...families.values()].map(({ table }) => table);
  const unsupported = [...claims.unsupported, ...gatewayProblems(plan.gatewayPorts), ...affinityProblems([...families.values()].map(({ parts }) => parts))];
  const ruleset = withText({ tables, unsupported });
  knownBuilds.set(ruleset, { plan, options: settingOf(options), claims, indexes: backends.indexes, families });
  return ruleset;
}

/** How a ruleset was built, so that the next one is built from it. */
interface KnownBuild {
  readonly plan: RoutingPlan;
  readonly options: Setting;
  readonly claims: Claims;
  readonly indexes: ReadonlyMap<string, number>;
  readonly families: ReadonlyMap<NftFamily, { readonly parts: FamilyParts; readonly table: NftTable }>;
}

const knownBuilds = new WeakMap<NftRuleset, KnownBuild>();

const NO_CLAIMS: FamilyClaims = { listeners: [], users: new Map(), verdicts: [], dispatchChains: [], callerSets: [], vips: [], sockets: [] };

type Setting = Pick<NftBuildOptions, 'node' | 'affinity' | 'families'>;

// Without what it was built from, which would keep all that ever was.
const settingOf = ({ node, affinity, families }: NftBuildOptions): Setting => ({ ...(node && { node }), ...(affinity && { affinity }), ...(families && { families }) });

const isSameSetting = (a: Setting, b: Setting): boolean => settingKey(a) === settingKey(b);
const settingKey = ({ node, affinity, families }: Setting): string => JSON.stringify([node?.name, node?.zone, node?.clusterId, affinity, families]);

const isSameList = <T>(a: readonly T[], b: readonly T[]): boolean => a === b || (a.length === b.length && a.every((item, index) => item === b[index]));

const claimsOf = (plan: RoutingPlan, options: NftBuildOptions, before: KnownBuild | undefined): Claims =>
  before !== undefined && isSameList(before.plan.frontends, plan.frontends) ? before.claims : claimListeners(plan.frontends, options.families ?? NFT_FAMILIES);

// IPv6 is there only where somebody uses it: a node without it must not fail over an empty table.
const familiesOf = (claims: Claims, options: NftBuildOptions, takesInIpv6: boolean): readonly NftFamily[] =>
  NFT_FAMILIES.filter((family) => family === 'ip' || ((options.families ?? NFT_FAMILIES).includes(family) && (claims.families.has(family) || takesInIpv6)));

interface Backends {
  readonly indexes: ReadonlyMap<string, number>;
  /** Ids of those that are not the objects of before; undefined where that is not known. */
  readonly changed: readonly string[] | undefined;
  readonly get: (id: string) => PlannedBackend | undefined;
}

function backendsOf(plan: RoutingPlan, before: KnownBuild | undefined): Backends {
  const changed = before === undefined ? undefined : changedIds(before.plan.backends, plan.backends);
  const indexes = changed !== undefined && before !== undefined ? before.indexes : new Map(plan.backends.map(({ id }, index) => [id, index]));
  const get = (id: string): PlannedBackend | undefined => {
    const index = indexes.get(id);
    return index === undefined ? undefined : plan.backends[index];
  };
  return { indexes, changed, get };
}

// Undefined where backends came, left or moved.
function changedIds(before: readonly PlannedBackend[], after: readonly PlannedBackend[]): readonly string[] | undefined {
  if (before.length !== after.length) return undefined;
  const changed: string[] = [];
  for (let index = 0; index < after.length; index += 1) {
    const now = after[index];
    if (now === undefined || now === before[index]) continue;
    if (now.id !== before[index]?.id) return undefined;
    changed.push(now.id);
  }
  return changed;
}

function mapsInForce(family: NftFamily, { before, shareMaps }: NftBuildOptions): (name: string) => NftUnitMap | undefined {
  const table = before?.tables.find((one) => one.family === family);
  let byName: ReadonlyMap<string, NftUnitMap> | undefined;
  return (name) => {
    // Made when the first sticky listener asks: most changes are to others.
    byName ??= table === undefined ? (shareMaps?.[family] ?? new Map<string, NftUnitMap>()) : new Map(table.sets.flatMap((set) => (set.kind === 'shares' || set.kind === 'owners' ? [[set.name, set]] : [])));
    return byName.get(name);
  };
}

interface ListenerParts {
  readonly backends: Backends;
  readonly context: ListenerContext;
}

function builtListeners(claims: FamilyClaims, { backends, context }: ListenerParts, previous: FamilyParts | undefined): readonly BuiltListener[] {
  const build = (index: number, known: BuiltListener | undefined): BuiltListener | undefined => {
    const claim = claims.listeners[index];
    if (claim === undefined) return undefined;
    const used = claim.listener.uses.map((use) => backends.get(use.backend));
    if (known?.claim.listener === claim.listener && isSameList(known.backends, used)) return known.claim === claim ? known : { ...known, claim };
    return buildListener(claim, used, context, known);
  };
  if (previous?.claims === claims && backends.changed !== undefined) {
    const listeners = [...previous.listeners];
    for (const index of new Set(backends.changed.flatMap((id) => claims.users.get(id) ?? []))) {
      const built = build(index, listeners[index]);
      if (built !== undefined) listeners[index] = built;
    }
    return listeners;
  }
  const known = new Map(previous?.listeners.map((built) => [built.claim.suffix, built]));
  return claims.listeners.flatMap((claim, index) => build(index, known.get(claim.suffix)) ?? []);
}

function affinityProblems(families: readonly FamilyParts[]): readonly Problem[] {
  if (families.every(({ affinity }) => affinity === 'timed')) return [];
  const problems = families.flatMap(({ listeners }) => listeners.flatMap(({ unsupported }) => unsupported));
  return [...new Map(problems.map((problem) => [problem.path, problem])).values()];
}

// Most rulesets are only compared: at thousands of frontends the text is megabytes that nobody reads.
function withText(structure: Omit<NftRuleset, 'text'>): NftRuleset {
  let text: string | undefined;
  return {
    ...structure,
    get text(): string {
      text ??= renderNftTables(structure.tables);
      return text;
    },
  };
}
