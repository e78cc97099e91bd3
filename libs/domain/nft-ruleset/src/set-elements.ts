import type { NftSet } from './nft-ruleset.js';

/** What leaves a set and what enters it, each as a set of the same kind and name. */
export interface SetElementsDiff {
  readonly gone: NftSet;
  readonly come: NftSet;
}

/** An element of whatever set. */
export type NftElement = NftSet['elements'][number];

/** Compares the elements of two states of one set or map. An element whose data changed leaves and enters. */
export function diffSetElements(before: NftSet, after: NftSet): SetElementsDiff {
  const { gone, come } = compare(before.kind === after.kind ? before.elements : [], after.elements);
  return { gone: withElements(after, gone), come: withElements(after, come) };
}

/** The same set or map with other elements of its kind. */
export const withElements = (set: NftSet, elements: readonly NftElement[]): NftSet => ({ ...set, elements }) as NftSet;

/** All that an element says, as text. */
function elementText(element: NftElement): string {
  if (typeof element === 'string') return element;
  if ('from' in element) return `${elementKey(element)} ${'owner' in element ? element.owner : `${element.address} ${element.port}`}`;
  return 'chain' in element ? `${elementKey(element)} ${element.chain}` : elementKey(element);
}

/** What the kernel tells elements apart by, as text: their keys, an interval by both of its ends. */
export function elementKey(element: NftElement): string {
  if (typeof element === 'string') return element;
  if ('from' in element) return `${element.from}-${element.to}`;
  return 'address' in element ? `${element.address} ${element.protocol} ${element.port}` : `${element.protocol} ${element.port}`;
}

const isSame = (a: NftElement | undefined, b: NftElement | undefined): boolean => a === b || (typeof a === 'object' && typeof b === 'object' && elementText(a) === elementText(b));

// Two states of a set mostly differ in one place: what is the same before and behind it is not looked at twice.
function compare(before: readonly NftElement[], after: readonly NftElement[]): { readonly gone: readonly NftElement[]; readonly come: readonly NftElement[] } {
  if (before === after) return { gone: [], come: [] };
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && isSame(before[head], after[head])) head += 1;
  let tail = 0;
  while (tail < shorter - head && isSame(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail += 1;
  const oldMiddle = before.slice(head, before.length - tail);
  const newMiddle = after.slice(head, after.length - tail);
  const old = new Set(oldMiddle.map(elementText));
  const now = new Set(newMiddle.map(elementText));
  return { gone: oldMiddle.filter((element) => !now.has(elementText(element))), come: newMiddle.filter((element) => !old.has(elementText(element))) };
}
