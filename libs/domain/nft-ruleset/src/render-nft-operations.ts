import { assertNever } from '#domain/fleet';

import type { NftOperation } from './diff-nft-ruleset.js';
import { TABLE_NAME, type NftSet } from './nft-ruleset.js';
import { renderElements, renderHook, renderRule, renderSetType, setWord } from './render-nft-ruleset.js';

/** Writes a transaction as commands that `nft -f -` runs all or none of. */
export const renderNftOperations = (operations: readonly NftOperation[]): string => operations.map((operation) => `${renderOperation(operation)}\n`).join('');

const TABLE = `ip ${TABLE_NAME}`;

function renderOperation(operation: NftOperation): string {
  switch (operation.op) {
    case 'add-table':
      return `add table ${TABLE}`;
    case 'delete-table':
      return `delete table ${TABLE}`;
    case 'add-counter':
      return `add counter ${TABLE} ${operation.name}`;
    case 'delete-counter':
      return `delete counter ${TABLE} ${operation.name}`;
    case 'add-set':
    case 'delete-set':
    case 'add-elements':
    case 'delete-elements':
      return renderSetOperation(operation.op, operation.set);
    default:
      return renderChainOperation(operation);
  }
}

function renderSetOperation(op: 'add-set' | 'delete-set' | 'add-elements' | 'delete-elements', set: NftSet): string {
  switch (op) {
    case 'add-set':
      return `add ${setWord(set)} ${TABLE} ${set.name} { ${renderSetType(set).join('; ')}; }`;
    case 'delete-set':
      return `delete ${setWord(set)} ${TABLE} ${set.name}`;
    case 'add-elements':
      return `add element ${TABLE} ${set.name} { ${renderElements(set).join(', ')} }`;
    case 'delete-elements':
      return `delete element ${TABLE} ${set.name} { ${renderElements(set).join(', ')} }`;
    default:
      return assertNever(op);
  }
}

function renderChainOperation(operation: Extract<NftOperation, { readonly chain: unknown }>): string {
  switch (operation.op) {
    case 'add-chain':
      return `add chain ${TABLE} ${operation.chain.name}${operation.chain.hook === undefined ? '' : ` { ${renderHook(operation.chain).join(' ')} }`}`;
    case 'flush-chain':
      return `flush chain ${TABLE} ${operation.chain.name}`;
    case 'delete-chain':
      return `delete chain ${TABLE} ${operation.chain.name}`;
    case 'add-rule':
      return `add rule ${TABLE} ${operation.chain} ${renderRule(operation.rule)}`;
    default:
      return assertNever(operation);
  }
}
