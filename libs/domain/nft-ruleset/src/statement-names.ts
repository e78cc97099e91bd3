import { AFFINITY_MAP, FLOWS_SET } from './names.js';
import type { NftStatement } from './nft-ruleset.js';

/** The sets and maps that a statement asks or fills. */
export function setNamesOf(statement: NftStatement): readonly string[] {
  switch (statement.kind) {
    case 'in-set':
    case 'not-in-set':
      return [statement.set];
    case 'dispatch':
      return [statement.map];
    case 'dnat-by-share':
    case 'unit-of-owner':
      return [statement.map];
    case 'remember':
      return [AFFINITY_MAP];
    case 'take-unit':
      return statement.from === 'memory' ? [AFFINITY_MAP] : [];
    case 'count-flow':
      return [FLOWS_SET];
    default:
      return [];
  }
}
