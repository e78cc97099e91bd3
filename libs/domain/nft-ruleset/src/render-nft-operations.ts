import { assertNever } from '#domain/fleet';

import type { NftOperation } from './diff-nft-ruleset.js';
import { TABLE_NAME } from './nft-ruleset.js';
import { renderElements, renderHook, renderRule, renderSetType } from './render-nft-ruleset.js';
import { setWord } from './set-layout.js';

/** Writes a transaction as commands that `nft -f -` runs all or none of. */
export const renderNftOperations = (operations: readonly NftOperation[]): string => operations.map((operation) => `${renderOperation(operation)}\n`).join('');

function renderOperation(operation: NftOperation): string {
  const table = `${operation.family} ${TABLE_NAME}`;
  switch (operation.op) {
    case 'add-table':
      return `add table ${table}`;
    case 'delete-table':
      return `delete table ${table}`;
    case 'add-counter':
      return `add counter ${table} ${operation.name}`;
    case 'delete-counter':
      return `delete counter ${table} ${operation.name}`;
    case 'add-set':
    case 'delete-set':
    case 'add-elements':
    case 'delete-elements':
      return renderSetOperation(operation, table);
    default:
      return renderChainOperation(operation, table);
  }
}

function renderSetOperation({ op, family, set }: Extract<NftOperation, { readonly set: unknown }>, table: string): string {
  switch (op) {
    case 'add-set':
      return `add ${setWord(set)} ${table} ${set.name} { ${renderSetType(family, set).join('; ')}; }`;
    case 'delete-set':
      return `delete ${setWord(set)} ${table} ${set.name}`;
    case 'add-elements':
      return `add element ${table} ${set.name} { ${renderElements(set).join(', ')} }`;
    case 'delete-elements':
      return `delete element ${table} ${set.name} { ${renderElements(set).join(', ')} }`;
    default:
      return assertNever(op);
  }
}

function renderChainOperation(operation: Extract<NftOperation, { readonly chain: unknown }>, table: string): string {
  switch (operation.op) {
    case 'add-chain':
      return `add chain ${table} ${operation.chain.name}${operation.chain.hook === undefined ? '' : ` { ${renderHook(operation.chain).join(' ')} }`}`;
    case 'flush-chain':
      return `flush chain ${table} ${operation.chain.name}`;
    case 'delete-chain':
      return `delete chain ${table} ${operation.chain.name}`;
    case 'add-rule':
      return `add rule ${table} ${operation.chain} ${renderRule(operation.family, operation.rule)}`;
    default:
      return assertNever(operation);
  }
}
