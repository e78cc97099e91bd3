import { assertNever } from '#domain/fleet';

import type { NftSet, NftShareElement, NftVerdictElement } from './nft-ruleset.js';

/** What leaves a set and what enters it, each as a set of the same kind and name. */
export interface SetElementsDiff {
  readonly gone: NftSet;
  readonly come: NftSet;
}

/** Compares the elements of two states of one set or map. An element whose data changed leaves and enters. */
export function diffSetElements(before: NftSet, after: NftSet): SetElementsDiff {
  switch (after.kind) {
    case 'addresses':
    case 'pairs': {
      const { gone, come } = compare(before.kind === after.kind ? before.elements : [], after.elements, (text) => text);
      return { gone: { ...after, elements: gone }, come: { ...after, elements: come } };
    }
    case 'verdicts': {
      const { gone, come } = compare(before.kind === after.kind ? before.elements : [], after.elements, verdictKey);
      return { gone: { ...after, elements: gone }, come: { ...after, elements: come } };
    }
    case 'shares': {
      const { gone, come } = compare(before.kind === after.kind ? before.elements : [], after.elements, shareKey);
      return { gone: { ...after, elements: gone }, come: { ...after, elements: come } };
    }
    default:
      return assertNever(after);
  }
}

const verdictKey = ({ address, protocol, port, chain }: NftVerdictElement): string => `${address} ${protocol} ${port} ${chain}`;
const shareKey = ({ from, to, address, port }: NftShareElement): string => `${from} ${to} ${address} ${port}`;

// Two states of a set mostly differ in one place: what is the same before and behind it is not looked at twice.
function compare<T>(before: readonly T[], after: readonly T[], keyOf: (element: T) => string): { readonly gone: readonly T[]; readonly come: readonly T[] } {
  if (before === after) return { gone: [], come: [] };
  const isSame = (a: T | undefined, b: T | undefined): boolean => a === b || (a !== undefined && b !== undefined && typeof a === 'object' && keyOf(a) === keyOf(b));
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && isSame(before[head], after[head])) head += 1;
  let tail = 0;
  while (tail < shorter - head && isSame(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail += 1;
  const oldMiddle = before.slice(head, before.length - tail);
  const newMiddle = after.slice(head, after.length - tail);
  const old = new Set(oldMiddle.map(keyOf));
  const now = new Set(newMiddle.map(keyOf));
  return { gone: oldMiddle.filter((element) => !now.has(keyOf(element))), come: newMiddle.filter((element) => !old.has(keyOf(element))) };
}
