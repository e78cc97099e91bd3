import type { Problem } from '#domain/fleet';

import type { NftChain, NftRuleset, NftSet, NftStatement, NftTable, NftUnitMap } from './nft-ruleset.js';
import { SET_LAYOUTS } from './set-layout.js';
import { setNamesOf } from './statement-names.js';

/**
 * Proves that a map of units tiles its modulus: intervals in order, none empty, none overlapping, and mapped plus rejected
 * units make up the whole. No problem means that every draw has exactly one outcome.
 */
export function unitMapProblems(map: NftUnitMap): readonly Problem[] {
  const problems: Problem[] = [];
  let next = 0;
  let covered = 0;
  map.elements.forEach((element, index) => {
    const { from, to } = element;
    const say = (code: string, message: string): number => problems.push({ path: `${map.name}[${index}]`, code: `NFT_INTERVAL_${code}`, message });
    if (!Number.isInteger(from) || !Number.isInteger(to) || to < from || from < 0 || to >= map.modulus) say('INVALID', `interval ${from}-${to} is not within 0-${map.modulus - 1}`);
    if (from < next) say('OVERLAP', `unit ${from} already leads elsewhere`);
    next = to + 1;
    covered += to - from + 1;
  });
  if (covered + map.rejectedUnits !== map.modulus) {
    const message = `${covered} mapped and ${map.rejectedUnits} rejected units do not make ${map.modulus}`;
    problems.push({ path: map.name, code: 'NFT_SHARES_INCOMPLETE', message });
  }
  return problems;
}

const NONE: readonly Problem[] = [];

// Rulesets of one node share most of their objects from change to change; what was proven once stays proven.
const provenMaps = new WeakSet<NftUnitMap>();
const provenNames = new WeakMap<readonly NftChain[], { readonly sets: readonly NftSet[]; readonly counters: readonly string[] }>();

function newUnitMapProblems(map: NftUnitMap): readonly Problem[] {
  if (provenMaps.has(map)) return NONE;
  const problems = unitMapProblems(map);
  if (problems.length === 0) provenMaps.add(map);
  return problems;
}

/** Everything that would make a ruleset lie or not load: untiled shares, verdicts and rules that name what is not there. */
export const nftRulesetProblems = ({ tables }: Pick<NftRuleset, 'tables'>): readonly Problem[] => tables.flatMap(tableProblems);

function tableProblems(table: NftTable): readonly Problem[] {
  const problems: Problem[] = [];
  for (const set of table.sets) if (set.kind === 'shares' || set.kind === 'owners') problems.push(...newUnitMapProblems(set));
  if (problems.length === 0 && !areNamesProven(table)) problems.push(...nameProblems(table));
  if (problems.length === 0) provenNames.set(table.chains, table);
  return problems;
}

// The same chains, and sets of the same names, of which those with verdicts are the same: then no name can be missing.
function areNamesProven({ chains, sets, counters }: NftTable): boolean {
  const proven = provenNames.get(chains);
  return proven?.sets.length === sets.length && proven.counters === counters && sets.every((set, index) => set === proven.sets[index] || (!hasVerdicts(set) && set.name === proven.sets[index]?.name));
}

const hasVerdicts = (set: NftSet): boolean => SET_LAYOUTS[set.kind].data === 'verdict';

function nameProblems({ sets, chains, counters }: NftTable): readonly Problem[] {
  const setNames = new Set(sets.map((set) => set.name));
  const chainNames = new Set(chains.map((chain) => chain.name));
  const missing = (path: string, kind: string, name: string): Problem => ({ path, code: 'NFT_NAME_UNKNOWN', message: `${kind} ${name} is not in the table` });
  const ofStatement = (path: string, statement: NftStatement): readonly Problem[] => [
    ...('chain' in statement && !chainNames.has(statement.chain) ? [missing(path, 'chain', statement.chain)] : NONE),
    ...setNamesOf(statement).filter((name) => !setNames.has(name)).map((name) => missing(path, 'set or map', name)),
    ...('counter' in statement && !counters.includes(statement.counter) ? [missing(path, 'counter', statement.counter)] : NONE),
  ];
  return [
    ...sets.flatMap((set) => (set.kind === 'verdicts' || set.kind === 'port-verdicts' ? set.elements.filter(({ chain }) => !chainNames.has(chain)).map(({ chain }) => missing(set.name, 'chain', chain)) : NONE)),
    ...chains.flatMap((chain) => chain.rules.flatMap((rule) => rule.flatMap((statement) => ofStatement(chain.name, statement)))),
  ];
}
