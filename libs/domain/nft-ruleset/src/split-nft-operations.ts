import type { NftOperation } from './diff-nft-ruleset.js';
import { elementKey, withElements } from './set-elements.js';
import type { NftSet } from './nft-ruleset.js';
import { SET_LAYOUTS } from './set-layout.js';

/**
 * Cuts a transaction that is too large for the kernel to take at once into two that run one after the other. The rule:
 * between the two, every connection gets what it may get before or after, because what leaves and enters a map of units or a
 * verdict is never parted and nothing is led to before it is complete. The one exception is the replacement of a table
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
  if (before.family !== after.family) return true;
  // The first steps of a replacement are one: add, delete, add the table.
  if (after.op === 'add-table' || after.op === 'delete-table') return false;
  return !isOneMap(before, after) && !isOneChain(before, after);
}

const isOneMap = (before: NftOperation, after: NftOperation): boolean =>
  before.op === 'delete-elements' && after.op === 'add-elements' && before.set.name === after.set.name && isOneChange(before.set, after.set);

// A chain's rules are one: between them its verdict would be missing.
const isOneChain = (before: NftOperation, after: NftOperation): boolean => after.op === 'add-rule' && ((before.op === 'add-rule' && before.chain === after.chain) || before.op === 'flush-chain');

const isInterval = (set: NftSet): boolean => SET_LAYOUTS[set.kind].isInterval;

function isOneChange(gone: NftSet, come: NftSet): boolean {
  if (isInterval(come)) return true;
  const keys = new Set(gone.elements.map(elementKey));
  return come.elements.some((element) => keys.has(elementKey(element)));
}

// Elements of sets and verdicts stand each for itself; those of a map of units only together.
function splitOperation(operation: NftOperation): readonly [readonly NftOperation[], readonly NftOperation[]] | undefined {
  if ((operation.op !== 'add-elements' && operation.op !== 'delete-elements') || isInterval(operation.set) || operation.set.elements.length < 2) return undefined;
  const { op, set, family } = operation;
  const middle = Math.floor(set.elements.length / 2);
  const part = (from: number, to?: number): readonly NftOperation[] => [{ op, family, set: withElements(set, set.elements.slice(from, to)) }];
  return [part(0, middle), part(middle)];
}
