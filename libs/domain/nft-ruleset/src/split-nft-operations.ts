import type { NftOperation } from './diff-nft-ruleset.js';
import type { NftSet } from './nft-ruleset.js';

/**
 * Cuts a transaction that is too large for the kernel to take at once into two that run one after the other. The rule:
 * between the two, every listener is served wholly as before or wholly as after, because what leaves and enters a share map
 * or a verdict is never parted and nothing is led to before it is complete. The one exception is the replacement of a table
 * whose layout changed: there the listeners come back one by one. Undefined where nothing is left to cut.
 */
export function splitNftOperations(operations: readonly NftOperation[]): readonly [readonly NftOperation[], readonly NftOperation[]] | undefined {
  const [only] = operations;
  if (operations.length === 1 && only !== undefined) return splitOperation(only);
  const middle = operations.length / 2;
  const cuts = operations.flatMap((_, index) => (isCut(operations, index) ? [index] : []));
  const cut = cuts.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
  return cut === undefined ? undefined : [operations.slice(0, cut), operations.slice(cut)];
}

function isCut(operations: readonly NftOperation[], index: number): boolean {
  const before = operations[index - 1];
  const after = operations[index];
  if (before === undefined || after === undefined) return false;
  // The first steps of a replacement are one: add, delete, add the table.
  if (after.op === 'add-table' || after.op === 'delete-table') return false;
  const isOneMap = before.op === 'delete-elements' && after.op === 'add-elements' && before.set.name === after.set.name && isOneChange(before.set, after.set);
  // A chain's rules are one: between them its verdict would be missing.
  const isOneChain = after.op === 'add-rule' && ((before.op === 'add-rule' && before.chain === after.chain) || before.op === 'flush-chain');
  return !isOneMap && !isOneChain;
}

function isOneChange(gone: NftSet, come: NftSet): boolean {
  if (gone.kind !== 'verdicts' || come.kind !== 'verdicts') return come.kind === 'shares';
  const keys = new Set(gone.elements.map(({ address, port }) => `${address}:${port}`));
  return come.elements.some(({ address, port }) => keys.has(`${address}:${port}`));
}

// Elements of sets and verdicts stand each for itself; those of a share map only together.
function splitOperation(operation: NftOperation): readonly [readonly NftOperation[], readonly NftOperation[]] | undefined {
  if ((operation.op !== 'add-elements' && operation.op !== 'delete-elements') || operation.set.kind === 'shares' || operation.set.elements.length < 2) return undefined;
  const { op, set } = operation;
  const middle = Math.floor(set.elements.length / 2);
  const part = (from: number, to?: number): readonly NftOperation[] => [{ op, set: { ...set, elements: set.elements.slice(from, to) } as NftSet }];
  return [part(0, middle), part(middle)];
}
