import { SHARE_MODULUS, type NftChain, type NftRule, type NftRuleset, type NftSet } from '#domain/nft-ruleset';

import { LIST_ITEM, SET_ATTR } from './constants.js';
import { writeExpressions } from './encode-rule.js';
import { declarationOf, writeSetDeclaration } from './encode-set.js';
import { MessageWriter } from './message-writer.js';
import { containsAttributes, parseAttributes, u32Of, type Attribute } from './parse-messages.js';
import type { KernelChain, KernelSet, KernelTable } from './read-table.js';

/**
 * Says what the kernel's table is in our own terms, so that a process that starts beside a table of an earlier one only
 * changes what differs and no connection notices. Undefined where the table holds what no ruleset of ours can: the only
 * way on from there is to replace it.
 */
export function adoptTable(table: KernelTable, wanted: NftRuleset): NftRuleset | undefined {
  const wantedSets = new Map(wanted.sets.map((set) => [set.name, set]));
  const wantedChains = new Map(wanted.chains.map((chain) => [chain.name, chain]));
  const sets = table.sets.map((set) => adoptSet(set, wantedSets.get(set.name)));
  const chains = table.chains.map((chain) => adoptChain(chain, wantedChains.get(chain.name)));
  if (sets.includes(undefined) || chains.includes(undefined)) return undefined;
  return {
    family: wanted.family,
    table: wanted.table,
    counters: table.counters,
    sets: sets.filter((set) => set !== undefined),
    chains: chains.filter((chain) => chain !== undefined),
    unsupported: [],
    text: '',
  };
}

function adoptSet(set: KernelSet, same: NftSet | undefined): NftSet | undefined {
  const { content } = set;
  if (content === undefined) return undefined;
  const adopted = content.kind === 'shares' ? { ...content, modulus: same?.kind === 'shares' ? same.modulus : SHARE_MODULUS } : content;
  const hasSameFlags = u32Of(set.declaration, SET_ATTR.FLAGS) === declarationOf(adopted).flags;
  return hasSameFlags && containsAttributes(declarationAttributes(adopted), set.declaration) ? adopted : undefined;
}

// The batch's own number for the set is the one attribute that the kernel does not keep.
function declarationAttributes(set: NftSet): readonly Attribute[] {
  const writer = new MessageWriter();
  writeSetDeclaration(writer, set);
  return parseAttributes(writer.bytes());
}

// A chain whose rules are not exactly ours is taken as one without rules, so that the difference rewrites it.
function adoptChain(chain: KernelChain, same: NftChain | undefined): NftChain | undefined {
  if (chain.isBase && chain.hook === undefined) return undefined;
  const isOurs = same !== undefined && same.rules.length === chain.rules.length && same.rules.every((rule, index) => isSameRule(rule, chain.rules[index] ?? []));
  return { name: chain.name, ...(chain.hook === undefined ? {} : { hook: chain.hook }), rules: isOurs ? same.rules : [] };
}

function isSameRule(rule: NftRule, got: readonly Attribute[]): boolean {
  const writer = new MessageWriter();
  writeExpressions(writer, rule);
  const wantItems = parseAttributes(writer.bytes());
  const gotItems = got.filter((item) => item.type === LIST_ITEM);
  return containsAttributes(wantItems, gotItems);
}
