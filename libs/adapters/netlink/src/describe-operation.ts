import { TABLE_NAME, type NftOperation } from '#domain/nft-ruleset';

/** What an operation was about to do, for an error's sentence: `adding 3 elements to shares-… of table ip`. */
export function describeOperation(operation: NftOperation | undefined): string {
  return operation === undefined ? `committing to table ${TABLE_NAME}` : `${describe(operation)} of table ${operation.family}`;
}

function describe(operation: NftOperation): string {
  switch (operation.op) {
    case 'add-elements':
      return `adding ${operation.set.elements.length} elements to ${operation.set.name}`;
    case 'delete-elements':
      return `deleting ${operation.set.elements.length} elements from ${operation.set.name}`;
    case 'add-rule':
      return `adding a rule to chain ${operation.chain}`;
    case 'add-set':
    case 'delete-set':
      return `${operation.op.replace('-', ' ')} ${operation.set.name}`;
    case 'add-chain':
    case 'flush-chain':
    case 'delete-chain':
      return `${operation.op.replace('-', ' ')} ${operation.chain.name}`;
    case 'add-counter':
    case 'delete-counter':
      return `${operation.op.replace('-', ' ')} ${operation.name}`;
    default:
      return `${operation.op.replace('-', ' ')} ${TABLE_NAME}`;
  }
}
