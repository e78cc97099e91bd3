import type { Problem } from '#domain/fleet';

import type { NftRuleset, NftShareMap } from './nft-ruleset.js';

/**
 * Proves that a share map tiles its modulus: intervals in order, none empty, none overlapping, no gap between them, and
 * mapped plus rejected units make up the whole. No problem means that every draw has exactly one outcome.
 */
export function shareMapProblems(map: NftShareMap): readonly Problem[] {
  const problems: Problem[] = [];
  let next = 0;
  map.elements.forEach((element, index) => {
    const { from, to } = element;
    const say = (code: string, message: string): number => problems.push({ path: `${map.name}[${index}]`, code: `NFT_INTERVAL_${code}`, message });
    if (!Number.isInteger(from) || !Number.isInteger(to) || to < from || from < 0 || to >= map.modulus) say('INVALID', `interval ${from}-${to} is not within 0-${map.modulus - 1}`);
    if (from < next) say('OVERLAP', `unit ${from} already leads elsewhere`);
    if (from > next) say('GAP', `units ${next}-${from - 1} lead nowhere`);
    next = to + 1;
  });
  if (next + map.rejectedUnits !== map.modulus) {
    const message = `${next} mapped and ${map.rejectedUnits} rejected units do not make ${map.modulus}`;
    problems.push({ path: map.name, code: 'NFT_SHARES_INCOMPLETE', message });
  }
  return problems;
}

const NONE: readonly Problem[] = [];

// Rulesets of one node share most of their maps from change to change; what was proven once stays proven.
const proven = new WeakSet<NftShareMap>();

function newShareMapProblems(map: NftShareMap): readonly Problem[] {
  if (proven.has(map)) return NONE;
  const problems = shareMapProblems(map);
  if (problems.length === 0) proven.add(map);
  return problems;
}

/** Everything that would make a ruleset lie or not load: untiled shares, verdicts and rules that name what is not there. */
export function nftRulesetProblems(ruleset: NftRuleset): readonly Problem[] {
  const sets = new Set(ruleset.sets.map((set) => set.name));
  const chains = new Set(ruleset.chains.map((chain) => chain.name));
  const counters = new Set(ruleset.counters);
  const missing = (path: string, kind: string, name: string): Problem => ({ path, code: 'NFT_NAME_UNKNOWN', message: `${kind} ${name} is not in the table` });
  return [
    ...ruleset.sets.flatMap((set) => (set.kind === 'shares' ? newShareMapProblems(set) : NONE)),
    ...ruleset.sets.flatMap((set) =>
      set.kind === 'verdicts' ? set.elements.filter(({ chain }) => !chains.has(chain)).map(({ chain }) => missing(set.name, 'chain', chain)) : [],
    ),
    ...ruleset.chains.flatMap((chain) =>
      chain.rules.flatMap((rule) =>
        rule.flatMap((statement) => {
          if ('set' in statement) return sets.has(statement.set) ? NONE : [missing(chain.name, 'set', statement.set)];
          if ('map' in statement) return sets.has(statement.map) ? NONE : [missing(chain.name, 'map', statement.map)];
          return !('counter' in statement) || counters.has(statement.counter) ? NONE : [missing(chain.name, 'counter', statement.counter)];
        }),
      ),
    ),
  ];
}
