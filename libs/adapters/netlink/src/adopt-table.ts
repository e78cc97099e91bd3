import type { NftChain, NftFamily, NftRule, NftSet, NftTable } from '#domain/nft-ruleset';

import { LIST_ITEM } from './constants.js';
import { writeExpressions } from './encode-rule.js';
import { writeSetDeclaration } from './encode-set.js';
import { MessageWriter } from './message-writer.js';
import { containsAttributes, parseAttributes, type Attribute } from './parse-messages.js';
import type { KernelChain, KernelSet, KernelTable } from './read-table.js';

/**
 * Says what the kernel's table is in our own terms, so that a process that starts beside a table of an earlier one only
 * changes what differs and no connection notices. Undefined where the table holds what no table of ours can: the only
 * way on from there is to replace it.
 */
export function adoptTable(table: KernelTable, wanted: NftTable): NftTable | undefined {
  const { family } = wanted;
  const wantedSets = new Map(wanted.sets.map((set) => [set.name, set]));
  const wantedChains = new Map(wanted.chains.map((chain) => [chain.name, chain]));
  const sets = table.sets.map((set) => adoptSet(family, set, wantedSets.get(set.name)));
  const chains = table.chains.map((chain) => adoptChain(family, chain, wantedChains.get(chain.name)));
  if (sets.includes(undefined) || chains.includes(undefined)) return undefined;
  return {
    family,
    counters: table.counters,
    sets: sets.filter((set) => set !== undefined),
    chains: chains.filter((chain) => chain !== undefined),
  };
}

// A set that is wanted must be declared as wanted, to the last byte; one that is not wanted any more only has to be of a kind of ours.
function adoptSet(family: NftFamily, set: KernelSet, same: NftSet | undefined): NftSet | undefined {
  const { content } = set;
  if (content === undefined || same === undefined) return content;
  if (content.kind !== same.kind || !containsAttributes(declarationAttributes(family, same), set.declaration)) return undefined;
  return content.kind === 'shares' && same.kind === 'shares' ? { ...content, protocol: same.protocol } : content;
}

// The batch's own number for the set is the one attribute that the kernel does not keep.
function declarationAttributes(family: NftFamily, set: NftSet): readonly Attribute[] {
  const writer = new MessageWriter();
  writeSetDeclaration(writer, family, set);
  return parseAttributes(writer.bytes());
}

// A chain whose rules are not exactly ours is taken as one without rules, so that the difference rewrites it.
function adoptChain(family: NftFamily, chain: KernelChain, same: NftChain | undefined): NftChain | undefined {
  if (chain.isBase && chain.hook === undefined) return undefined;
  const isOurs = same !== undefined && same.rules.length === chain.rules.length && same.rules.every((rule, index) => isSameRule(family, rule, chain.rules[index] ?? []));
  return { name: chain.name, ...(chain.hook === undefined ? {} : { hook: chain.hook }), rules: isOurs ? same.rules : [] };
}

function isSameRule(family: NftFamily, rule: NftRule, got: readonly Attribute[]): boolean {
  const writer = new MessageWriter();
  writeExpressions(writer, family, rule);
  const wantItems = parseAttributes(writer.bytes());
  const gotItems = got.filter((item) => item.type === LIST_ITEM);
  return containsAttributes(wantItems, gotItems);
}
